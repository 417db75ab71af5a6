/* Unas cosas al lado de otras; las que no caben, debajo. */
window.atentoExplorers.add(({h}) => ({sides: (...nodes) => h("div", {class: "sides"}, nodes)}));
