import { describe, expect, test } from 'bun:test'
import Ajv2020 from 'ajv/dist/2020'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import { importWithin } from '../../../server/adapters/openapi/import-openapi'
import { API_METHODS, type DataSchema, OPERATION_ID } from '../../../server/core/apis/api'
import { clashes, pathParameters, templateProblem } from '../../../server/core/apis/api-routes'
import type { ImportedDocument } from '../../../server/core/apis/catalog/imported'
import { isPlainLine, isPlainText } from '../../../server/core/plain-text'
import { ApiInputs } from '../../../server/pipeline/apis/api-input'
import { anApi, anOperation } from '../../support/apis'
import { PUBLISHED, publishedOpenApi } from '../../support/published-openapi'

/** How many operations each file gives, and what of it cannot be sold. */
const EXPECTED: Readonly<Record<(typeof PUBLISHED)[number], readonly [number, readonly string[]]>> = {
  'azure-openai.json': [6, []],
  'azure-openai-preview.json': [52, []],
  'blockfrost.yaml': [
    121,
    [
      'POST /tx/submit has a body of application/cbor; supported are JSON, URL-encoded forms and multipart',
      'POST /utils/txs/evaluate has a body of application/cbor; supported are JSON, URL-encoded forms and multipart',
      'POST /ipfs/add is served elsewhere than the rest: https://ipfs.blockfrost.io/api/v0',
      'GET /ipfs/gateway/{IPFS_path} is served elsewhere than the rest: https://ipfs.blockfrost.io/api/v0',
      'POST /ipfs/pin/add/{IPFS_path} is served elsewhere than the rest: https://ipfs.blockfrost.io/api/v0',
      'GET /ipfs/pin/list is served elsewhere than the rest: https://ipfs.blockfrost.io/api/v0',
      'GET /ipfs/pin/list/{IPFS_path} is served elsewhere than the rest: https://ipfs.blockfrost.io/api/v0',
      'POST /ipfs/pin/remove/{IPFS_path} is served elsewhere than the rest: https://ipfs.blockfrost.io/api/v0',
    ],
  ],
  'dialogporten.json': [44, []],
  'figma.yaml': [54, []],
  'github.json': [
    1221,
    [
      '/repos/{owner}/{repo}/compare/{base}...{head} has two parameters in the segment {base}...{head}',
      'POST /repos/{owner}/{repo}/releases/{release_id}/assets is served elsewhere than the rest: https://uploads.github.com',
    ],
  ],
  'openai.yaml': [271, []],
  'rclone.json': [101, []],
  'readme.json': [54, []],
  'stapi.json': [120, []],
  'uspto.json': [3, []],
}

// What the issue allows GitHub's file. YAML takes more memory: its parser keeps where each token stood.
const MEMORY_MB: Readonly<Record<string, number>> = { 'github.json': 200, 'openai.yaml': 400 }

for (const file of PUBLISHED) {
  describe(file, () => {
    let document: ImportedDocument

    test('imports within the memory limit, or reports what cannot be sold', async () => {
      const limits = { timeoutMs: 300_000, maxMemoryBytes: (MEMORY_MB[file] ?? 200) * 1024 * 1024 }
      const result = await importWithin(limits, publishedOpenApi(file), {})
      if (!result.ok) throw new Error(result.error.message)
      document = result.value
      const [count, refused] = EXPECTED[file]
      expect(document.refused.map(({ name, reason }) => `${name} ${reason}`)).toEqual([...refused])
      expect(document.operations.length).toBe(count)
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

function references(schema: DataSchema): string[] {
  return [...JSON.stringify(schema).matchAll(/"\$ref":"#\/\$defs\/([^"]+)"/g)].map(([, name = '']) => name)
}

function definitions(schema: DataSchema): string[] {
  return typeof schema === 'object' ? Object.keys(schema['$defs'] ?? {}) : []
}
