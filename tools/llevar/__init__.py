"""El libro para llevar: un solo documento, y de él el PDF y el EPUB; y las páginas en un zip."""
