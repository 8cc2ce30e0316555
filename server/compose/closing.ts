interface Closable {
  close?(): unknown
}

/** Closes all of one step before the next, and the database last. */
export function closing(
  steps: readonly (readonly (Closable | null | undefined)[])[],
  { closeDatabase }: { closeDatabase(): Promise<void> },
) {
  return async (): Promise<void> => {
    for (const step of steps) await Promise.all(step.map((part) => part?.close?.()))
    await closeDatabase()
  }
}
