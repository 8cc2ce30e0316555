import { describe, expect, test } from 'bun:test'
import Ajv2020 from 'ajv/dist/2020'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import { importWithin } from '../../../server/adapters/openapi/import-openapi'
import { API_METHODS, type DataSchema, OPERATION_ID } from '../../../server/core/apis/api'
import { clashes, pathParameters, templateProblem } from '../../../server/core/apis/api-routes'
import type { ImportedDocument } from '../../../server/core/apis/catalog/imported'
import { isPlainLine, isPlainText } from '../../../server/core/plain-text'
import { type ApiInput, ApiInputs, type SentBody } from '../../../server/pipeline/apis/api-input'
import expected from '../../fixtures/openapi/expected.json'
import { anApi, anOperation } from '../../support/apis'
import { IS_LONG } from '../../support/long'
import { LARGE, PUBLISHED, type PublishedFile, publishedOpenApi } from '../../support/published-openapi'

/** How many operations each file gives, and what of it cannot be sold. */
const EXPECTED: Readonly<Record<PublishedFile, { readonly operations: number; readonly refused: readonly string[] }>> =
  expected

// The bound for GitHub's file. YAML takes more memory: its parser keeps the place of each token.
const MEMORY_MB: Readonly<Record<string, number>> = {
  'github.json': 200,
  'openai.yaml': 400,
  'kubernetes-2.0.json': 400,
}

for (const file of IS_LONG ? LARGE : PUBLISHED) {
  describe(file, () => {
    let document: ImportedDocument

    test('imports within the memory limit, or reports what cannot be sold', async () => {
      const limits = { timeoutMs: 300_000, maxMemoryBytes: (MEMORY_MB[file] ?? 200) * 1024 * 1024 }
      const result = await importWithin(limits, await publishedOpenApi(file), {})
      if (!result.ok) throw new Error(result.error.message)
      document = result.value
      const { operations, refused } = EXPECTED[file]
      expect(document.refused.map(({ name, reason }) => `${name} ${reason}`)).toEqual([...refused])
      expect(document.operations.length).toBe(operations)
    })

    test('produces operations that the gateway can route and name', () => {
      const { operations } = document
      expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
      for (const { id, method, path, parameters } of operations) {
        expect(id).toMatch(OPERATION_ID)
        expect(API_METHODS).toContain(method)
        expect(templateProblem(path)).toBeNull()
        const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
        expect(inPath.sort()).toEqual(pathParameters(path).sort())
      }
      expect(clashes(anApi({ operations: operations.map((operation) => anOperation(operation)) }))).toEqual([])
    })

    test('produces examples that the gateway would accept', () => {
      const api = anApi({ operations: document.operations.map((operation) => anOperation(operation)) })
      const inputs = new ApiInputs(compileJsonSchema)
      for (const operation of api.operations) {
        for (const { input } of operation.examples) {
          expect(inputs.readJson({ api, operation, values: {} }, input)).toMatchObject({ ok: true })
        }
      }
    })

    test('produces examples that go up alike by a tool and by HTTP', () => {
      const api = anApi({ operations: document.operations.map((operation) => anOperation(operation)) })
      const inputs = new ApiInputs(compileJsonSchema)
      for (const operation of api.operations) {
        for (const { input } of operation.examples) {
          const byTool = inputs.readJson({ api, operation, values: {} }, input)
          if (!byTool.ok) throw new Error(`${operation.id}: ${JSON.stringify(byTool.error)}`)
          const { query, headers, path, body } = byTool.value
          const texts = new Map<string, string[]>()
          for (const [name, text] of query) texts.set(name, [...(texts.get(name) ?? []), text])
          const values = Object.fromEntries(
            Object.entries(path).map(([name, text]) => [name, decodeURIComponent(text)]),
          )
          const header = (name: string) => headers[name.toLowerCase()] ?? null
          const byHttp = inputs.read({ api, operation, values }, { query: texts, header, body: sentAgain(body) })
          if (!byHttp.ok) throw new Error(`${operation.id}: ${JSON.stringify(byHttp.error)}`)
          expect({ ...byHttp.value, numberOf: 0 }).toEqual({ query, headers, path, body, numberOf: 0 })
        }
      }
    })

    test('produces plain texts', () => {
      for (const { title, description, parameters } of document.operations) {
        expect(isPlainLine(title) && title !== '' && [...title].length <= 100).toBe(true)
        for (const text of [description, ...parameters.map((parameter) => parameter.description)]) {
          expect(isPlainText(text) && [...text].length <= 1_000 && !/<[a-z/!]/i.test(text)).toBe(true)
        }
      }
      for (const notice of document.notices) expect(isPlainLine(notice)).toBe(true)
    })

    test('produces schemas that are valid, closed and self-contained', () => {
      const ajv = new Ajv2020({ strict: false })
      for (const { parameters, body, id } of document.operations) {
        const schemas: DataSchema[] = [...parameters.map(({ schema }) => schema), ...(body ? [body.schema] : [])]
        for (const schema of schemas) {
          if (!ajv.validateSchema(schema)) throw new Error(`${id}: ${JSON.stringify(ajv.errors)}`)
          for (const name of references(schema)) expect(definitions(schema)).toContain(name)
          expect(JSON.stringify(schema)).not.toMatch(/"(pattern|format)":"/)
          expect(typeof compileJsonSchema(schema)({ undeclared: [1, { a: null }] })).toMatch(/string|object/)
        }
      }
    })
  })
}

function sentAgain(body: ApiInput['body']): SentBody {
  if (!body) return { kind: 'none' }
  if (body.kind === 'json') return { kind: 'json', value: JSON.parse(body.text), text: body.text }
  return { kind: 'form', fields: body.kind === 'multipart' ? body.fields : [...new URLSearchParams(body.text)] }
}

function references(schema: DataSchema): string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)].map(([, name = '']) => name)
}

function definitions(schema: DataSchema): string[] {
  return typeof schema === 'object' ? Object.keys(schema['$defs'] ?? {}) : []
}
