/** How the operator appears to customers. */
export interface Brand {
  readonly name: string
  /** One sentence about what is sold. */
  readonly sentence: string
  /** `#rrggbb`. */
  readonly accent: string
  readonly logo: Logo | null
  /** Where customers get help: a URL, or `mailto:`. Null if not given, like the pages below. */
  readonly support: string | null
  readonly terms: string | null
  readonly privacy: string | null
}

export interface Logo {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
}

export const DEFAULT_BRAND: Brand = {
  name: 'Gateway',
  sentence: 'APIs and models, paid per successful request, under spending limits that hold.',
  accent: '#1f5fbf',
  logo: null,
  support: null,
  terms: null,
  privacy: null,
}
