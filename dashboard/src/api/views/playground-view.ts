/** The state of the playground, stored in the URL. Never contains a key. */
export interface PlaygroundView {
  /** Set for the chat with a model; absent for a single endpoint. */
  readonly view?: 'chat' | undefined
  readonly model?: string | undefined
  readonly operation?: string | undefined
  readonly values?: Readonly<Record<string, string>> | undefined
}

const MAX_FIELDS = 40

/** Parses the state from the URL. Unknown values are dropped. */
export function playgroundView(search: Record<string, unknown>): PlaygroundView {
  const { operation, values, view, model } = search
  const given = typeof values === 'object' && values !== null ? Object.entries(values).slice(0, MAX_FIELDS) : []
  return {
    view: view === 'chat' ? 'chat' : undefined,
    model: typeof model === 'string' ? model.slice(0, 128) || undefined : undefined,
    operation: typeof operation === 'string' ? operation : undefined,
    // The router parses digits as numbers.
    values: given.length === 0 ? undefined : Object.fromEntries(given.map(([name, value]) => [name, String(value)])),
  }
}
