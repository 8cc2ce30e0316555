const FORMS = ['edit', 'limit', 'expires'] as const

/** The state of a key's page. `form`: the form that a link opens, and the field in it. */
export interface KeyView {
  readonly form?: (typeof FORMS)[number]
}

/** Parses the state from the URL. Unknown values are dropped. */
export function keyView(search: Record<string, unknown>): KeyView {
  const form = FORMS.find((value) => value === search['form'])
  return form ? { form } : {}
}
