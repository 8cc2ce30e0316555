import { type Api, type ApiOperation, importedName } from '../../server/core/apis/api'
import type { ApiWrite } from '../../server/core/apis/api-store'
import type { Money } from '../../server/core/money'
import { audit } from './ledger-parts'

/** An enabled API `weather` with one operation, of which a test sets what it is about. */
export function anApi(part: Partial<Api> = {}): Api {
  const name = part.name ?? 'weather'
  const operations = part.operations ?? [anOperation({})]
  return {
    title: 'Weather',
    description: 'Forecasts for any place.',
    baseUrl: 'https://api.weather.example/base',
    auth: { kind: 'none' },
    timeoutMs: 10_000,
    concurrency: 100,
    cacheSeconds: 0,
    headers: {},
    enabled: true,
    createdAt: 0,
    updatedAt: 0,
    ...part,
    name,
    operations: operations.map((operation) => ({ ...operation, name: importedName(name, operation.id) })),
  }
}

/** The settings of a key that may call all of these: a list where one is a write, which a key without a list may not call. */
export function listing(operations: readonly Partial<ApiOperation>[]): { allowed_endpoints?: string[] } {
  const writes = operations.some(({ effect }) => effect === 'write')
  return writes ? { allowed_endpoints: operations.map(({ id = 'forecast' }) => `weather.${id}`) } : {}
}

/** `GET /v1/forecast` for 0.01 USD; every parameter has to be declared by the test. */
export function anOperation(part: Partial<ApiOperation>): ApiOperation {
  const id = part.id ?? 'forecast'
  return {
    method: 'GET',
    path: '/v1/forecast',
    title: 'Forecast',
    description: 'The forecast of the next days.',
    parameters: [],
    body: null,
    success: { minStatus: 200, maxStatus: 299, conditions: [] },
    price: { mode: 'fixed', amount: 10_000 as Money },
    priceVersion: `price_${id}`,
    upstreamCost: null,
    payPerRequest: null,
    effect: 'read',
    idempotencyHeader: null,
    refusedStatuses: [],
    answer: 'whole',
    headersUp: [],
    headersDown: [],
    examples: [],
    toolName: `weather_${id}`.toLowerCase(),
    enabled: true,
    ...part,
    id,
    name: importedName('weather', id),
  }
}

/** The change that saves an API, as the catalog makes it. */
export function saving(api: Api, expected: number | null = null): Extract<ApiWrite, { kind: 'save' }> {
  return { kind: 'save', api, expected, reopened: [], audit: audit('api.save') }
}

/** The change that removes it. */
export function removing({ name, updatedAt }: Api, at: number): Extract<ApiWrite, { kind: 'remove' }> {
  return { kind: 'remove', name, at, expected: updatedAt, audit: audit('api.remove') }
}
