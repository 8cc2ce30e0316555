/** What the playground shows; it stands in its address, never with a key. */
export interface PlaygroundView {
  readonly operation?: string | undefined
  readonly values?: Readonly<Record<string, string>> | undefined
}

const MOST_FIELDS = 40

/** Out of the address of the page; what is none of ours is left out. */
export function playgroundView(search: Record<string, unknown>): PlaygroundView {
  const { operation, values } = search
  const given = typeof values === 'object' && values !== null ? Object.entries(values).slice(0, MOST_FIELDS) : []
  return {
    operation: typeof operation === 'string' ? operation : undefined,
    // Figures come back from the address as numbers.
    values: given.length === 0 ? undefined : Object.fromEntries(given.map(([name, value]) => [name, String(value)])),
  }
}
