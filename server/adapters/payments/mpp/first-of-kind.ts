/** Prices are few; amounts of top-ups are anyone's choice. */
const MAX_KINDS = 200

/** What the library made the first time, by its kind; forgotten as a whole when the kinds are too many. */
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
