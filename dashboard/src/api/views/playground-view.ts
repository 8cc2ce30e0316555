/** What the playground shows; it stands in its address, never with a key. */
export interface PlaygroundView {
  /** Where a model is talked to; without it, one endpoint is tried. */
  readonly view?: 'chat' | undefined
  readonly model?: string | undefined
  readonly operation?: string | undefined
  readonly values?: Readonly<Record<string, string>> | undefined
}

const MAX_FIELDS = 40

/** Out of the address of the page; what is none of ours is left out. */
export function playgroundView(search: Record<string, unknown>): PlaygroundView {
  const { operation, values, view, model } = search
  const given = typeof values === 'object' && values !== null ? Object.entries(values).slice(0, MAX_FIELDS) : []
  return {
    view: view === 'chat' ? 'chat' : undefined,
    model: typeof model === 'string' ? model.slice(0, 128) || undefined : undefined,
    operation: typeof operation === 'string' ? operation : undefined,
    // Figures come back from the address as numbers.
    values: given.length === 0 ? undefined : Object.fromEntries(given.map(([name, value]) => [name, String(value)])),
  }
}
