import { expect, test } from 'bun:test'
import { isReturnedHeader } from '../../../server/adapters/openapi/header-names'
import type { ApiParameter, UpstreamAuth } from '../../../server/core/apis/api'
import { operationProblems } from '../../../server/core/apis/api-rules'
import { inputNames } from '../../../server/core/apis/input-schema'
import { returnedNames } from '../../../server/core/apis/upstream-headers'
import { anOperation } from '../../support/apis'

const QUERY = { in: 'query', required: false, description: '', style: 'form', explode: true } as const
const named = (name: string): ApiParameter => ({ ...QUERY, name, schema: { type: 'string' } })
const spread = (name: string, ...members: readonly string[]): ApiParameter => ({
  ...QUERY,
  name,
  schema: { type: 'object', properties: Object.fromEntries(members.map((member) => [member, {}])) },
})

test('two parameters that send one query name, or the name of the upstream key, are refused by name', () => {
  const problems = (parameters: readonly ApiParameter[], auth: UpstreamAuth = { kind: 'none' }) =>
    operationProblems(anOperation({ parameters }), { auth }).join()
  const key = { kind: 'query', name: 'key', secret: { from: 'environment', name: 'UPSTREAM_KEY' } } as const
  expect(problems([named('limit'), spread('filter', 'limit')])).toContain('limit twice')
  expect(problems([spread('a', 'limit'), spread('b', 'limit')])).toContain('limit twice')
  expect(problems([spread('filter', 'key')], key)).toContain('key twice')
  expect(problems([named('filter'), spread('other', 'limit', 'q')], key)).toBe('')
})

test('every parameter of a tool has a unique name, and none has a reserved one', () => {
  const parameters = [
    ...[named('query_id'), named('id'), named('body'), named('max_price_usd'), named('idempotency_key')],
    { ...named('id'), in: 'path' as const },
  ]
  expect(inputNames(parameters)).toEqual([
    ...['query_id', 'query_id_', 'query_body', 'query_max_price_usd', 'query_idempotency_key', 'path_id'],
  ])
})

test('a document cannot have headers passed down that a proxy in front of the gateway or a browser would obey', () => {
  const obeyed = [
    ...[
      'X-Accel-Redirect',
      'X-Accel-Expires',
      'X-Sendfile',
      'X-LiteSpeed-Location',
      'X-Reproxy-URL',
      'Surrogate-Control',
    ],
    ...[
      'CDN-Cache-Control',
      'Cloudflare-CDN-Cache-Control',
      'Cache-Tag',
      'Expires',
      'Speculation-Rules',
      'Critical-CH',
    ],
    ...[
      'Set-Cookie',
      'Location',
      'Link',
      'Refresh',
      'Clear-Site-Data',
      'WWW-Authenticate',
      'Access-Control-Allow-Origin',
    ],
  ]
  for (const name of obeyed) {
    expect([name, isReturnedHeader(name)]).toEqual([name, false])
    const problems = operationProblems(anOperation({ headersDown: [name.toLowerCase()] }), { auth: { kind: 'none' } })
    expect(problems).toEqual([`headers_down must not name ${name.toLowerCase()}`])
    // Texts stored before the refusal are not passed down either.
    expect(returnedNames([name.toLowerCase()])).toEqual(returnedNames([]))
  }
  expect(isReturnedHeader('X-Total-Count')).toBe(true)
})
