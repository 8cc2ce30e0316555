/**
 * Resolves when the driver has closed the files of the databases that this thread closed: it keeps them open until the last statement is collected
 * (tursodatabase/libsql-js#230), and a thread that ends finalizes nothing. For a thread without other work, since it also drops compiled code.
 *
 * Neither collection is enough alone. In the first, statements live on in what the compiler of hot functions is still at. `Bun.shrink` waits for
 * it, drops what it made and collects once no function runs, but then finds old pointers in other places of the stack.
 */
export async function finalizeStatements(): Promise<void> {
  Bun.gc(true)
  Bun.shrink()
  await loopTurn()
  // Collected statements are finalized in a turn of the event loop of their own.
  await loopTurn()
}

function loopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
