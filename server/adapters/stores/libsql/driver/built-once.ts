/** A query that is built at its first use and kept: building one takes longer than running it. */
export function builtOnce<T>(build: () => T): () => T {
  let built: T | undefined
  return () => {
    built ??= build()
    return built
  }
}
