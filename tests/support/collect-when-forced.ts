/**
 * Elysia collects the garbage of the whole process once an app has compiled its handler: 15 ms of a core for each gateway. Who forces a
 * collection, as what measures memory does, gets it.
 */
const collect = Bun.gc
Bun.gc = (force) => (force ? collect(force) : 0)
