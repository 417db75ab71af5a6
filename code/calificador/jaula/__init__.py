"""La jaula: el proceso donde se ejecuta una entrega y el canal por el que se le habla."""
