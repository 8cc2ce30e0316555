import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import type { OperatorModels, VendorList, VendorTest } from '../../../server/http/operator/model-record'
import type { UpstreamList } from '../../../server/http/operator/record'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { openOperatorConsole } from '../../support/operator-console'
import { openAi, openVendor, type VendorDouble } from '../../support/vendor-double'
import { type Owner, read, refusalOf } from '../owner-bench'

const KEY = 'sk-proj-the-secret-key-of-the-operator'
const ENV = { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' }

let vendor: VendorDouble
let gateway: ModelGateway
let operator: Owner
beforeAll(async () => {
  vendor = openVendor(({ path, headers }) => {
    if (headers.get('authorization') !== `Bearer ${KEY}`)
      return Response.json(
        { error: { message: `Incorrect API key provided: ${headers.get('authorization')?.slice(7)}.` } },
        { status: 401 },
      )
    return path === '/v1/models'
      ? Response.json({ object: 'list', data: [{ id: 'gpt-small', object: 'model' }] })
      : openAi.plain('Hi', { input: 10, output: 4 })
  })
  gateway = await openModelGateway([], ENV)
  operator = await gateway.owner('operator@example.com')
  const { id } = await read<{ id: `acct_${string}` }>(operator.api('/api/account'))
  await gateway.core.operator.appoint({ kind: 'operator', id: 'test', address: null }, id)
})
afterAll(async () => {
  await gateway.close()
  vendor.close()
})

const VENDORS = '/api/operator/model-vendors'
const double = (name: string, key?: string) => ({ name, kind: 'openai', base_url: `${vendor.origin}/v1/`, key })

describe("a vendor's key", () => {
  test('is tested with its models, sealed, used by the models that are sold, never shown, and gone with the vendor', async () => {
    const added = await read<VendorTest>(operator.api(VENDORS, double('acme', KEY)))
    expect(added).toMatchObject({
      status: 200,
      problem: null,
      vendor: { name: 'acme', base_url: `${vendor.origin}/v1`, has_key: true, key_opens: true, models: [] },
      models: [{ id: 'gpt-small', vendor_price: null, sold_as: [] }],
    })
    const sell = (body: object) => operator.api(`${VENDORS}/acme/models`, body)
    expect(await refusalOf(sell({ model: 'gpt-small' }))).toMatchObject({ status: 400, param: 'price' })
    const price = { input: 10, output: 20 }
    const { models } = await read<OperatorModels>(sell({ model: 'gpt-small', id: 'small', price }))
    expect(models).toMatchObject([
      { id: 'small', in_database: true, recharge_required: true, upstreams: [{ model: 'gpt-small', vendor: 'acme' }] },
    ])
    expect(await refusalOf(sell({ model: 'gpt-small', id: 'small', price }))).toMatchObject({ code: 'invalid_state' })
    const { key } = await gateway.funded()
    const call = () => gateway.chat(key, { model: 'small', max_tokens: 100 })
    expect((await call()).headers.get('x-cost-micros-usd')).toBe('180')
    expect(vendor.received.at(-1)).toMatchObject({ path: '/v1/chat/completions', body: { model: 'gpt-small' } })

    const stored = await gateway.core.stores.db.all<Record<string, unknown>>('SELECT * FROM model_vendors')
    const audited = await gateway.core.stores.db.all<Record<string, unknown>>('SELECT * FROM audit_log')
    const shown = [added, await read<VendorList>(operator.api(VENDORS)), stored, audited]
    expect(JSON.stringify(shown)).not.toContain(KEY)
    expect(stored).toMatchObject([{ name: 'acme', key: expect.stringMatching(/^v1\./) }])

    expect(await refusalOf(operator.api(`${VENDORS}/acme`, {}, 'DELETE'))).toMatchObject({ code: 'invalid_state' })
    await read(operator.api('/api/operator/models/small', {}, 'DELETE'))
    await read(operator.api(`${VENDORS}/acme`, {}, 'DELETE'))
    const actions = await gateway.core.stores.db.all<{ action: string }>(
      "SELECT action FROM audit_log WHERE action LIKE 'model.%' ORDER BY id",
    )
    expect(actions.map(({ action }) => action)).toEqual([
      'model.vendor_add',
      'model.put',
      'model.remove',
      'model.vendor_remove',
    ])
    expect((await call()).status).toBe(404)
    expect(await read<VendorList>(operator.api(VENDORS))).toEqual({ vendors: [] })
  })

  test("that the vendor refuses is reported with the vendor's status and words, without the key; another one heals it", async () => {
    const wrong = 'sk-proj-a-wrong-key-0123456789'
    const added = await read<VendorTest>(operator.api(VENDORS, double('other', wrong)))
    expect(added).toMatchObject({ status: 401, models: [] })
    expect(added.problem).toBe('The vendor answered with status 401: Incorrect API key provided: [key].')
    const healed = await read<VendorTest>(operator.api(`${VENDORS}/other/key`, { key: KEY }))
    expect(healed).toMatchObject({ status: 200, problem: null })
    const [audited] = await gateway.core.stores.db.all<{ action: string; detail: string }>(
      'SELECT action, detail FROM audit_log ORDER BY id DESC LIMIT 1',
    )
    expect([audited?.action, JSON.parse(audited?.detail ?? '{}')]).toEqual(['model.vendor_key', { name: 'other' }])
    expect(await read<VendorTest>(operator.api(`${VENDORS}/other/test`, {}))).toMatchObject({ problem: null })
    expect(await refusalOf(operator.api(VENDORS, double('other', KEY)))).toMatchObject({ code: 'invalid_state' })
    await read(operator.api(`${VENDORS}/other`, {}, 'DELETE'))
  })

  test('goes to its own URL only, whatever an entry says', async () => {
    const thief = openVendor(() => openAi.plain('Hi', { input: 1, output: 1 }))
    await read(operator.api(VENDORS, double('bound', KEY)))
    const put = (upstream: object) =>
      gateway.control('/models', { entry: { id: 'stolen', upstream, price: { input: 1, output: 1 } } })
    // The URL of the vendor replaces the one that the entry has.
    expect((await put({ vendor: 'bound', kind: 'openai', base_url: `${thief.origin}/v1` })).status).toBe(200)
    const { key } = await gateway.funded()
    expect((await gateway.chat(key, { model: 'stolen', max_tokens: 10 })).status).toBe(200)
    expect((await put({ vendor: 'nobody', kind: 'openai', base_url: `${thief.origin}/v1` })).status).toBe(404)
    expect(gateway.core.vendors.keyOf('bound', `${thief.origin}/v1`)).toBeUndefined()
    expect(thief.received).toEqual([])
    thief.close()
    await gateway.control('/models/stolen', {}, 'DELETE')
    await read(operator.api(`${VENDORS}/bound`, {}, 'DELETE'))
  })

  test('is not sent to a private address that no setting allows, nor to what is no URL of an API', async () => {
    const at = (base_url: string) => refusalOf(operator.api(VENDORS, { name: 'x', kind: 'openai', base_url, key: KEY }))
    expect(await at('http://169.254.169.254/v1')).toMatchObject({ status: 400, param: 'base_url' })
    expect(await at('http://10.1.2.3/v1')).toMatchObject({ status: 400, param: 'base_url' })
    expect(await at('file:///etc/passwd')).toMatchObject({ status: 400, param: 'base_url' })
    expect(await at('https://api.openai.com/v1/chat/completions')).toMatchObject({ status: 400, param: 'base_url' })
    const broken = await refusalOf(operator.api(VENDORS, double('broken', 'sk-1\r\nx-other: 1')))
    expect(broken).toMatchObject({ status: 400, param: 'key' })
    expect(await read<VendorList>(operator.api(VENDORS))).toEqual({ vendors: [] })
  })

  test('is resealed with the newest key, and does not open in the row of another vendor', async () => {
    await read(operator.api(VENDORS, double('sealed', KEY)))
    const { sealedTexts, keyOf } = { ...gateway.core.stores.modelVendors, keyOf: gateway.core.vendors.keyOf }
    const [text] = await sealedTexts.all()
    const sealing = new KeyRing(gateway.config.sealingKeys)
    const context = { table: 'model_vendors', row: 'another', column: 'key' }
    if (!text) throw new Error('nothing is sealed')
    await sealedTexts.replace(text, sealing.seal(KEY, context))
    const reread = async () => (await gateway.core.stores.modelVendors.read())()
    await reread()
    expect(keyOf('sealed', `${vendor.origin}/v1`)).toBeUndefined()
    expect(await read<VendorList>(operator.api(VENDORS))).toMatchObject({ vendors: [{ key_opens: false }] })
    const [moved] = await sealedTexts.all()
    if (moved) await sealedTexts.replace(moved, sealing.seal(KEY, text.context))
    await reread()
    expect(keyOf('sealed', `${vendor.origin}/v1`)).toBe(KEY)
    await read(operator.api(`${VENDORS}/sealed`, {}, 'DELETE'))
  })

  test('survives a start, and is for operators only', async () => {
    const owner = await gateway.owner('owner@example.com')
    expect(await refusalOf(owner.api(VENDORS))).toMatchObject({ status: 403, code: 'insufficient_permissions' })
    expect(await refusalOf(owner.api(VENDORS, double('mine', KEY)))).toMatchObject({ status: 403 })
    await read(operator.api(VENDORS, double('kept', KEY)))
    const take = await gateway.core.stores.modelVendors.read()
    take()
    expect(gateway.core.vendors.keyOf('kept', `${vendor.origin}/v1`)).toBe(KEY)
    await read(operator.api(`${VENDORS}/kept`, {}, 'DELETE'))
  })
})

test("a vendor's model is sold at the sheet's price with a markup, and its margin is known", async () => {
  const added = await gateway.core.vendors.add(
    { kind: 'operator', id: 'test', address: null },
    { name: 'openai', kind: 'openai', baseUrl: 'https://api.openai.com/v1', key: KEY },
  )
  expect(added.ok).toBe(true)
  const sell = { model: 'gpt-4o', markup_percent: 20, recharge_required: false }
  const { models } = await read<OperatorModels>(operator.api(`${VENDORS}/openai/models`, sell))
  expect(models).toMatchObject([
    {
      id: 'gpt-4o',
      pricing: { input: 3, output: 12 },
      purchase_pricing: { input: 2.5, output: 10 },
      recharge_required: false,
      max_output_tokens: 16384,
    },
  ])
  const priced = await read<OperatorModels>(
    operator.api('/api/operator/models/gpt-4o', { price: { input: 4, output: 16 } }, 'PATCH'),
  )
  expect(priced.models).toMatchObject([{ pricing: { input: 4, output: 16 }, recharge_required: false }])
})

test('the command line adds a vendor by a file with its key, sells a model and removes both', async () => {
  const cli = openOperatorConsole(gateway)
  const file = join(gateway.folder, 'key.txt')
  await writeFile(file, `${KEY}\n`)
  const url = ['--url', `${vendor.origin}/v1`]
  const added = await cli.run('vendor', 'add', 'cli', 'openai', ...url, '--key-file', file)
  expect(added).toContain('gpt-small')
  expect(added).not.toContain(KEY)
  const price = ['--input', '1', '--output', '2']
  const sold = await cli.run('vendor', 'sell', 'cli', 'gpt-small', '--as', 'by-cli', ...price, '--signup-credit')
  expect(sold).toContain('by-cli')
  const repriced = await cli.run('model', 'price', 'by-cli', '3', '4')
  expect(repriced).toContain('3')
  expect(gateway.core.catalog.byId('by-cli')).toMatchObject({ rechargeRequired: false })
  const { id } = await gateway.account()
  expect(await cli.run('model', 'access', 'by-cli', '--tiers', 'growth,starter', '--accounts', id)).toContain(id)
  expect(gateway.core.catalog.byId('by-cli')?.access).toEqual({ tiers: ['starter', 'growth'], accounts: [id] })
  await cli.run('model', 'access', 'by-cli', '--everyone')
  expect(gateway.core.catalog.byId('by-cli')?.access).toBeUndefined()
  await cli.run('model', 'price-for', id, '80.5', '--model', 'by-cli')
  expect(gateway.core.prices.modelOverride('by-cli', id)).toMatchObject({ basisPoints: 8050 })
  await cli.run('model', 'price-for', id, '--model', 'by-cli', '--none')
  expect(gateway.core.prices.modelOverride('by-cli', id)).toBe(null)
  await cli.run('model', 'remove', 'by-cli')
  await cli.run('vendor', 'remove', 'cli')
  expect(gateway.core.vendors.byName('cli').ok).toBe(false)
  await cli.close()
})

test('what a vendor says to a call that is not to blame is shown to operators, without the key, and not to the caller', async () => {
  const failing = openVendor(({ headers }) =>
    Response.json(
      { error: { message: `No quota left for ${headers.get('authorization')}. ${'x'.repeat(400)}` } },
      { status: 503 },
    ),
  )
  const price = { input: 1, output: 1 }
  await read(operator.api(VENDORS, { ...double('failing', KEY), base_url: `${failing.origin}/v1` }))
  await read(operator.api(`${VENDORS}/failing/models`, { model: 'down', price }))
  const { key } = await gateway.funded()
  const answer = await gateway.chat(key, { model: 'down', max_tokens: 10 })
  expect([answer.status, await answer.text()]).toEqual([503, expect.not.stringContaining('quota')])
  const { upstreams } = await read<UpstreamList>(operator.api('/api/operator/upstreams'))
  const refusal = upstreams.find(({ models }) => models.includes('down'))?.last_refusal
  expect([refusal?.status, refusal?.words.length]).toEqual([503, 300])
  expect(refusal?.words).toMatch(/^No quota left for Bearer \[key\]\. x+$/)
  failing.close()
})
