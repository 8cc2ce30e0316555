import type { ParameterTable } from './parameters'

/** The accepted `api-version` values, oldest first; the last one is the default (spec 9, spec-answers 5). */
const API_VERSIONS = ['2026-02-06', '2026-07-31'] as const
const LATEST_API_VERSION = API_VERSIONS[1]

/** The header parameters that every data endpoint takes (spec 4.1). `accept` is judged where the answer's type is chosen. */
export const DATA_HEADERS = {
  'api-version': {
    in: 'header',
    kind: 'enum',
    values: API_VERSIONS,
    default: LATEST_API_VERSION,
    description: 'Version of the answer, `YYYY-MM-DD`. The latest available when absent.',
  },
  'cache-control': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 1000,
    emptyIsDefault: true,
    description: '`no-cache` asks for a fresh answer, on a best-effort basis. Any other value is ignored.',
    example: 'no-cache',
  },
  'user-agent': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 8192,
    emptyIsDefault: true,
    description: "The client's user agent; it may alter the experience per device.",
    example: 'my-app/1.0',
  },
} as const satisfies ParameterTable
