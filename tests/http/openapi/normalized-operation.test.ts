import { expect, test } from 'bun:test'
import { swagger } from '@elysiajs/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Elysia, t } from 'elysia'
import { isLoose } from '../../../server/http/openapi/normalized-operation'
import { GENERATOR_INFO, openApiDocument } from '../../../server/http/openapi/open-api-document'

const NAMED = t.Object({ id: t.String(), limit: t.Nullable(t.Number()), state: t.UnionEnum(['on', 'off']) })

/** Everything that @elysiajs/swagger 1.3.1 writes wrongly. */
async function generated(): Promise<Record<string, unknown>> {
  const app = new Elysia()
    .use(swagger({ documentation: { info: GENERATOR_INFO } }))
    .model({ Named: NAMED })
    .get('/bare', () => 'x')
    .get('/typed', () => ({ ok: true }), { response: t.Object({ ok: t.Boolean() }) })
    .get('/list', () => [], { response: t.Array(t.Ref('Named')) })
    .get('/search', () => 'x', {
      query: t.Object({
        count: t.Optional(t.Numeric({ minimum: 1, maximum: 200, default: 50 })),
        strict: t.Optional(t.BooleanString()),
        mode: t.Optional(t.Union([t.Literal('off'), t.Literal('strict')])),
      }),
    })
    .post('/named', () => new Response(), { body: 'Named', response: { 204: t.Void() } })
  const document: unknown = await (await app.handle(new Request('http://localhost/swagger/json'))).json()
  return isLoose(document) ? document : {}
}

test('the output of the generator is not valid OpenAPI; normalized, it is', async () => {
  const raw = await generated()
  expect((await new Validator().validate(structuredClone(raw))).valid).toBe(false)
  const normalized = openApiDocument(raw, 'http://localhost')
  const verdict = await new Validator().validate(structuredClone(normalized) as unknown as Record<string, unknown>)
  expect(verdict.errors ?? []).toEqual([])
  expect(verdict.valid).toBe(true)
})

test('coerced unions become their plain types, each body appears once, and a 204 has none', async () => {
  const { paths } = openApiDocument(await generated(), 'http://localhost')
  const schemas = Object.fromEntries(
    (paths['/search']?.['get']?.parameters ?? []).map(({ name, schema }) => [name, schema]),
  )
  expect(schemas['count']).toMatchObject({ type: 'number', minimum: 1, maximum: 200, default: 50 })
  expect(schemas['strict']).toMatchObject({ type: 'boolean' })
  expect(schemas['mode']).toMatchObject({ type: 'string', enum: ['off', 'strict'] })
  expect(Object.keys(paths['/named']?.['post']?.requestBody?.content ?? {})).toEqual(['application/json'])
  expect(paths['/named']?.['post']?.responses['204']).toEqual({ description: 'Status 204' })
  expect(paths['/list']?.['get']?.responses['200']).toMatchObject({
    content: { 'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/Named' } } } },
  })
})
