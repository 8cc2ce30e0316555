interface Closable {
  close?(): unknown
}

/** Closes all of one step before the next, and the databases last. */
export function closing(
  steps: readonly (readonly (Closable | null | undefined)[])[],
  { closeDatabases }: { closeDatabases(): Promise<void> },
) {
  return async (): Promise<void> => {
    for (const step of steps) await Promise.all(step.map((part) => part?.close?.()))
    await closeDatabases()
  }
}
