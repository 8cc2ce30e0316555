import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importDocument } from '../../server/adapters/openapi/import-document'
import { bundledDocument } from '../../server/cli/commands/bundle-document'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-bundle-'))
  await mkdir(join(folder, 'api/parts'), { recursive: true })
  await writeFile(join(folder, 'secret.yaml'), 'type: string')
  await symlink(join(folder, 'secret.yaml'), join(folder, 'api/parts/link.yaml'))
  await symlink(join(folder, 'api/parts/order.yaml'), join(folder, 'api/inside.yaml'))
  await writeFile(
    join(folder, 'api/parts/order.yaml'),
    [
      'operationId: placeOrder',
      'parameters:',
      '  - $ref: shared.yaml#/at',
      'requestBody:',
      '  required: true',
      '  content:',
      '    application/json:',
      '      schema: { $ref: "../main.yaml#/components/schemas/Order" }',
    ].join('\n'),
  )
  await writeFile(
    join(folder, 'api/parts/shared.yaml'),
    'at: { name: at, in: query, required: true, schema: { $ref: "#/text" } }\ntext: { type: string, maxLength: 3 }',
  )
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function bundled(ref: string): Promise<string> {
  const file = join(folder, 'api/main.yaml')
  const order = '{ type: object, properties: { item: { type: integer } } }'
  const text = `openapi: 3.1.0\npaths: { /orders: { post: { $ref: "${ref}" } } }\ncomponents: { schemas: { Order: ${order} } }`
  await writeFile(file, text)
  return bundledDocument(file, text)
}

describe('a document of several files', () => {
  test.each(['parts/order.yaml', './parts/../parts/order.yaml', 'inside.yaml'])('becomes one: %s', async (ref) => {
    const read = await importDocument(await bundled(ref), {}, null)
    expect(read).toMatchObject({
      ok: true,
      value: {
        refused: [],
        operations: [
          {
            id: 'placeOrder',
            parameters: [{ name: 'at', required: true, schema: { maxLength: 3 } }],
            body: { required: true, schema: { properties: { item: { type: 'integer' } } } },
          },
        ],
      },
    })
  })

  test.each([
    '../secret.yaml',
    'parts/link.yaml',
    '/etc/hostname',
    '..%2Fsecret.yaml',
    'parts/../../secret.yaml',
    'parts/none.yaml',
  ])('reads nothing outside its own folder, and what needs it is refused by name: %s', async (ref) => {
    const text = await bundled(ref)
    expect(text).not.toContain('x-bundled-files')
    expect(await importDocument(text, {}, null)).toMatchObject({
      ok: true,
      value: { operations: [], refused: [{ name: 'POST /orders', reason: expect.stringContaining(`"${ref}"`) }] },
    })
  })

  test('of one file, or with references to URLs, stays as it is', async () => {
    for (const ref of ['#/components/x', 'https://docs.example/order.yaml', '//docs.example/order.yaml'])
      expect(await bundled(ref)).toContain(`"${ref}"`)
  })
})
