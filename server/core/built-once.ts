/** A value that is built at its first use and kept: building a query takes longer than running it. */
export function builtOnce<T>(build: () => T): () => T {
  let built: T | undefined
  return () => {
    built ??= build()
    return built
  }
}
