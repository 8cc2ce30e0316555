import { expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import Ajv2020 from 'ajv/dist/2020'
import { micros } from '../../../server/core/money'
import type { OpenApiDocument } from '../../../server/http/openapi/open-api'
import { anApi, anOperation } from '../../support/apis'
import { openHarness } from '../../support/harness'
import { routesOf } from './documented-gateway'

test('/openapi.json has the imported operations of this moment, with price and parameters, and stays valid', async () => {
  const gateway = await openHarness()
  const read = async () => (await (await gateway.call('/openapi.json')).json()) as OpenApiDocument
  const before = await read()
  const recursive = {
    $ref: '#/$defs/node',
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
  }
  const query = { in: 'query', required: false, description: '', style: 'form', explode: true } as const
  gateway.core.apis.replace([
    anApi({
      operations: [
        anOperation({ payPerRequest: true, parameters: [{ ...query, name: 'days', schema: { type: 'integer' } }] }),
        anOperation({
          id: 'order',
          method: 'POST',
          path: '/v1/orders/{id}',
          effect: 'write',
          parameters: [
            { ...query, in: 'path', name: 'id', required: true, style: 'simple', explode: false, schema: true },
          ],
          body: { contentType: 'application/json', required: true, schema: recursive },
          price: {
            mode: 'units',
            amount: micros(1000),
            figure: { kind: 'pointer', pointer: '/data' },
            block: 1,
            minimum: 0,
            maximum: 5,
            onMissing: 1,
          },
        }),
        anOperation({ id: 'off', path: '/v1/off', enabled: false }),
      ],
    }),
  ])
  const document = await read()
  const added = Object.keys(document.paths).filter((path) => !(path in before.paths))
  expect(added).toEqual(['/apis/v1/weather/v1/forecast', '/apis/v1/weather/v1/orders/{id}'])
  expect(document.paths['/apis/v1/weather/v1/forecast']?.['get']).toMatchObject({
    operationId: 'weather_forecast',
    tags: ['Catalog'],
    'x-operation': 'weather.forecast',
    'x-price': { amount: '0.01' },
    parameters: [{ name: 'days', in: 'query' }],
    security: [{ apiKey: [] }, {}],
  })
  expect(document.paths['/apis/v1/weather/v1/orders/{id}']?.['post']).toMatchObject({
    security: [{ apiKey: [] }],
    'x-effect': 'write',
    'x-api-price': { mode: 'units', maximum: 5 },
  })
  const refusals = routesOf(document).find(({ path }) => path === added[0])?.operation.responses['403']
  expect(refusals?.['x-error-codes']).toEqual(['ip_not_allowed', 'account_suspended', 'insufficient_permissions'])
  const price = async (operation: string, usd: string | null) =>
    expect((await gateway.control('/prices', { operation, usd })).status).toBe(200)
  const forecast = '/apis/v1/weather/v1/forecast'
  await price('weather.forecast', '0.02')
  const priced = await read()
  expect(priced.paths[forecast]?.['get']).toMatchObject({
    'x-price': { amount: '0.02' },
    'x-api-price': { usd: '0.02' },
  })
  await price('weather.forecast', null)
  const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)))
  expect(errors).toBeUndefined()
  expect(valid).toBe(true)
  gateway.core.apis.replace([])
  expect(await read()).toEqual(before)
  expect(await (await gateway.call('/llms.txt')).text()).toContain('GET /v1/catalog')
  await gateway.close()
})

test('/schemas/catalog.json is a JSON Schema that accepts an export and refuses unknown properties', async () => {
  const gateway = await openHarness()
  const schema = (await (await gateway.call('/schemas/catalog.json')).json()) as object
  const judge = new Ajv2020({ strict: false, validateFormats: false }).compile(schema)
  const entry = {
    name: 'weather',
    base_url: 'https://api.weather.example',
    auth: 'none',
    operations: [{ id: 'forecast', method: 'GET', path: '/v1/forecast', price: { mode: 'fixed', usd: '0.01' } }],
  }
  expect(judge({ apis: [entry] })).toBe(true)
  expect(judge({ apis: [{ ...entry, bass_url: 'x' }] })).toBe(false)
  expect((await gateway.control('/catalog', { catalog: { apis: [entry] } })).status).toBe(200)
  const exported: unknown = await (await gateway.control('/catalog')).json()
  expect(judge(exported), JSON.stringify(judge.errors)).toBe(true)
  await gateway.close()
})
