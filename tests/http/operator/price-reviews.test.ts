import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '../../../server/core/clock'
import { idTime } from '../../../server/core/ids'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { openOperatorConsole } from '../../support/operator-console'
import { openVendor } from '../../support/vendor-double'

const SHEET = {
  'gpt-x': { litellm_provider: 'openai', input_cost_per_token: 2.5e-6, output_cost_per_token: 1e-5, mode: 'chat' },
  claude: {
    litellm_provider: 'anthropic',
    input_cost_per_token: 3e-6,
    output_cost_per_token: 1.5e-5,
    cache_creation_input_token_cost: 3.75e-6,
  },
}
const CLAUDE = { input: 3, output: 15, cache_write: 3.75 }
const entry = (id: string) => ({ id, upstream: { kind: 'openai', model: 'gpt-x' }, price: { input: 2, output: 20 } })

let gateway: ModelGateway
let operator: ReturnType<typeof openOperatorConsole>
let file: string
beforeAll(async () => {
  gateway = await openModelGateway([
    { id: 'in-file', upstream: { kind: 'anthropic', model: 'claude' }, price: CLAUDE },
    { id: 'own', upstream: { kind: 'openai', base_url: 'http://127.0.0.1:11434/v1' }, price: { input: 0, output: 0 } },
  ])
  operator = openOperatorConsole(gateway)
  file = join(gateway.folder, 'sheet.json')
  await writeFile(file, JSON.stringify(SHEET))
  for (const id of ['sold', 'other']) await gateway.control('/models', { entry: entry(id) })
})
afterAll(async () => {
  await operator.close()
  await gateway.close()
})

const prices = async () => {
  const { models } = Object(await (await gateway.control('/models')).json())
  return Object.fromEntries(models.map(({ id, pricing }: { id: string; pricing: object }) => [id, pricing]))
}

describe('gateway operator model prices', () => {
  test('shows each difference and each price below the vendor, and changes nothing', async () => {
    const before = await prices()
    const text = await operator.run('model', 'prices', file, '--markup', '20')
    expect(text).toContain('sold (gpt-x)\n  ! below the vendor: input 2 < 2.5\n  input 2 -> 3\n  output 20 -> 12\n')
    expect(text).toContain('in-file (claude)\n  input 3 -> 3.6')
    expect(text).toContain('Change it in MODELS_FILE.')
    expect(text).toContain('own: not in the sheet')
    expect(text).not.toContain('sandbox/')
    // A sheet at an address, and an operator who did not say yes.
    const web = openVendor(() => Response.json(SHEET))
    const asked = await operator.run('model', 'prices', `${web.origin}/sheet.json`, '--apply')
    web.close()
    expect(asked).toContain('Nothing was changed. To do this, add --yes.')
    expect(await prices()).toEqual(before)
  })

  test('without a sheet compares with the one of the gateway, and says its date', async () => {
    expect(await operator.run('model', 'prices')).toMatch(/^Vendors' prices as of 20\d\d-\d\d-\d\d\./)
    const { sheet_date: date, models } = JSON.parse(await operator.run('model', 'prices', '--json'))
    expect(date).toMatch(/^20\d\d-\d\d-\d\d$/)
    expect(models.map(({ id }: { id: string }) => id)).toEqual(['in-file', 'other', 'own', 'sold'])
  })

  test('takes over the prices of chosen models, with what the vendor charges, and tells those that are old', async () => {
    const text = await operator.run('model', 'prices', file, '--markup', '20', '--only', 'sold', '--apply', '--yes')
    expect(text).toContain('sold (gpt-x)\n  ! below the vendor: input 2 < 2.5\n  input 2 -> 3\n  output 20 -> 12\n')
    const now = await prices()
    expect(now['sold']).toMatchObject({ input: 3, output: 12 })
    expect(now['other']).toMatchObject({ input: 2, output: 20 })
    expect(gateway.core.stores.models.entryOf('sold')).toMatchObject({
      price: { input: 3, output: 12 },
      purchase_price: { input: 2.5, output: 10 },
    })
    const [audited] = await gateway.core.stores.db.all<{ action: string; detail: string }>(
      'SELECT action, detail FROM audit_log ORDER BY id DESC LIMIT 1',
    )
    expect([audited?.action, JSON.parse(audited?.detail ?? '{}').id]).toEqual(['model.put', 'sold'])
    expect(await operator.run('model', 'prices', file, '--markup', '20')).toContain('sold (gpt-x): as proposed\n')
    // The times of ids never go back, and other tests of this process may have been later.
    const set = idTime('price', gateway.core.catalog.byId('sold')?.priceVersion ?? '') ?? 0
    gateway.clock.advance(set - gateway.clock.now() + 31 * DAY_MS)
    expect(await operator.run('model', 'prices', file, '--older-than', '30')).toContain('sold (gpt-x)\n  ! set on 20')
    expect(await operator.run('model', 'prices', file)).not.toContain('! set on')
  })

  test('refuses to change what it cannot, and then changes nothing', async () => {
    const before = await prices()
    for (const apply of [['other', 'in-file'], ['other', 'own'], ['nothing']]) {
      const answer = await gateway.control('/models/prices', { sheet: SHEET, apply })
      expect([answer.status, Object(Object(await answer.json()).error).param]).toEqual([400, 'apply'])
    }
    expect(operator.run('model', 'prices', join(gateway.folder, 'none.json'))).rejects.toThrow('there is no file')
    await writeFile(file, '<html>')
    expect(operator.run('model', 'prices', file)).rejects.toThrow('sheet.json')
    expect(await prices()).toEqual(before)
  })
})
