/** Prices are few, but callers choose the amounts of top-ups, so the cache needs a bound. */
const MAX_KINDS = 200

/** Caches the library's first result of each kind. The whole cache is cleared when it is full. */
export class FirstOfKind<T> {
  private readonly known = new Map<string, T>()

  async of(kind: string, make: () => Promise<T>): Promise<T> {
    const known = this.known.get(kind)
    if (known !== undefined) return known
    const made = await make()
    if (this.known.size >= MAX_KINDS) this.known.clear()
    this.known.set(kind, made)
    return made
  }
}
