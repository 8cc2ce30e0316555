/** The accepted `api-version` values, oldest first; the last one is the default (spec 9, spec D5). */
export const API_VERSIONS = ['2026-02-06', '2026-07-31'] as const
export const LATEST_API_VERSION = API_VERSIONS[1]

export type ApiVersion = (typeof API_VERSIONS)[number]

/** The differences between the versions of LLM context. */
interface ContextBehavior {
  /** The `context_threshold_mode` of a request without one. With `disabled`, every page with a word of the query counts. */
  readonly threshold: 'balanced' | 'disabled'
  /** Whether the age of a page has its publication as RFC 3339 too, after the three other formats. */
  readonly hasExactAge: boolean
  /** The age of a page of which it is unknown when it was published. */
  readonly unknownAge: readonly [] | null
}

export const CONTEXT_BEHAVIOR: Readonly<Record<ApiVersion, ContextBehavior>> = {
  '2026-02-06': { threshold: 'balanced', hasExactAge: false, unknownAge: null },
  '2026-07-31': { threshold: 'disabled', hasExactAge: true, unknownAge: [] },
}
