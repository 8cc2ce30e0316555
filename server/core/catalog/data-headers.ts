import { API_VERSIONS, LATEST_API_VERSION } from './api-version'
import type { ParameterTable } from './parameters'

/** Header parameters of every data endpoint (spec 4.1). `accept` is checked where the response type is negotiated. */
export const DATA_HEADERS = {
  'api-version': {
    in: 'header',
    kind: 'enum',
    values: API_VERSIONS,
    default: LATEST_API_VERSION,
    description: 'Version of the response format, `YYYY-MM-DD`. Defaults to the latest.',
  },
  'cache-control': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 1000,
    emptyIsDefault: true,
    description: '`no-cache` requests a fresh response, on a best-effort basis. Other values are ignored.',
    example: 'no-cache',
  },
  'user-agent': {
    in: 'header',
    kind: 'text',
    min: 1,
    max: 8192,
    emptyIsDefault: true,
    description: "The client's user agent. Results may be adapted to the device.",
    example: 'my-app/1.0',
  },
} as const satisfies ParameterTable
