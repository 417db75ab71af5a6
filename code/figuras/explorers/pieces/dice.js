/* Los números al azar de torch.rand con una semilla, que salen de un Mersenne Twister: una función que da el de sitio t,
   desde 0. */
window.atentoExplorers.add(() => ({
  dice(seed) {
    const state = [seed >>> 0],
      rolled = [],
      SIZE = 624;
    for (let i = 1; i < SIZE; i++)
      state[i] = (Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i) >>> 0;
    let at = SIZE;
    function renew() {
      for (let i = 0; i < SIZE; i++) {
        const mixed = (state[i] & 0x80000000) | (state[(i + 1) % SIZE] & 0x7fffffff);
        state[i] = state[(i + 397) % SIZE] ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
      }
      at = 0;
    }
    function roll() {
      if (at === SIZE) renew();
      let bits = state[at++];
      bits ^= bits >>> 11;
      bits ^= (bits << 7) & 0x9d2c5680;
      bits ^= (bits << 15) & 0xefc60000;
      bits ^= bits >>> 18;
      return (bits & 0xffffff) / 2 ** 24;
    }
    return (t) => {
      while (rolled.length <= t) rolled.push(roll());
      return rolled[t];
    };
  },
}));
