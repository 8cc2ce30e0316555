import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type DirectoryRouter, openRouter } from '../../server/compose/cluster/cells/cell-router'
import { newSecret } from '../../server/core/credentials/secret'
import { type AccountId, makeId } from '../../server/core/ids'
import { type AccountBody, read, refusalOf } from '../http/owner-bench'
import { IMAGES_CALL } from '../http/wire'
import { C2, type Cells, openCells } from '../support/cluster/cells'
import { newFolder } from '../support/harness'
import { newClaim } from '../support/payments/payment-claim'
import { openPaymentSandbox } from '../support/payments/payment-sandbox'
import { reconcile } from '../support/reconcile'

/** The control database is put back from a copy, and the cell beside `main` has gone on. Real files, and payments on a real chain. */
describe('after a restore of an older control database', () => {
  let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
  let cells: Cells
  let router: DirectoryRouter
  let made: Awaited<ReturnType<typeof goOn>>
  let before: string

  const reopened = async (folders: readonly [string, string], mainAlone: boolean) => {
    const env = { ...sandbox.env, PAYMENTS_ATTEMPTS_RPM: '1000000', ANON_RPM: '1000000' }
    cells = await openCells({ env, folders, mainAlone, running: true })
    await cells.main.gateway.rail.open()
    router = openRouter(cells.main.config, ['main', C2], cells.control.db)
  }

  beforeAll(async () => {
    sandbox = await openPaymentSandbox()
    const folders = [await newFolder(), await newFolder()] as const
    await reopened(folders, false)
    await cells.owner('root@example.com')
    before = (await keyOf(await cells.owner('before@example.com'))).secret
    await cells.close(true)
    const copy = await newFolder()
    await cp(folders[0], copy, { recursive: true })

    await reopened(folders, false)
    await cells.c2.gateway.rail.open()
    made = await goOn()
    await cells.close(true)

    await rm(folders[0], { recursive: true })
    await cp(copy, folders[0], { recursive: true })
    await rm(copy, { recursive: true })
    await reopened(folders, true)
  })
  afterAll(async () => {
    await cells.close(true)
    for (const folder of cells.folders) {
      expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
      await rm(folder, { recursive: true, force: true })
    }
    await sandbox.close()
  })

  async function keyOf(owner: Awaited<ReturnType<Cells['owner']>>) {
    expect(owner.cell).toBe(C2)
    return read<{ secret: string; key: { id: string } }>(owner.api('/api/keys', { name: 'a key' }), 201)
  }
  /** What is done in c2 that the copy does not have. */
  async function goOn() {
    await cells.owner('third@example.com')
    const owner = await cells.owner('since@example.com')
    const { secret } = await keyOf(owner)
    const { id } = await read<AccountBody>(owner.api('/api/account'))
    const payment = await sandbox.payer().createCredential(await cells.main.call(IMAGES_CALL))
    const beside = { authorization: payment, 'x-api-key': secret }
    expect((await cells.c2.call(IMAGES_CALL, { headers: beside })).status).toBe(200)
    const claim = newClaim({ id: makeId('pay', cells.clock.now()), createdAt: cells.clock.now() })
    expect(await cells.c2.core.stores.paymentClaims.take(claim, cells.clock.now())).toMatchObject({ kind: 'fresh' })
    expect((await grant(id)).status).toBe(200)
    return { id: id as AccountId, secret, payment, claim }
  }
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const send = async (path: string, headers: Record<string, string> = {}) => {
    const init = { headers }
    const cell = await router.cellOf(new Request(`http://localhost${path}`, init))
    return cells.gatewayOf(cell).call(path, init)
  }
  const grant = (account: string) =>
    cells.main.control('grant', { account, usd: '1', note: 'once', reference: 'bank 7' })

  test('no key is called unknown, and no payment is taken, before the other cell has synced the directory', async () => {
    for (const headers of [bearer(made.secret), bearer(newSecret().secret)])
      expect(await refusalOf(send(IMAGES_CALL, headers))).toMatchObject({ status: 503, code: 'service_unavailable' })
    const calls = cells.main.images.asked.length
    expect((await send(IMAGES_CALL, { authorization: made.payment })).status).toBe(503)
    expect(cells.main.images.asked.length).toBe(calls)
  })

  test('once it has, its keys work, and made-up ones are unknown', async () => {
    await cells.openC2()
    await cells.c2.gateway.rail.open()
    expect(cells.c2.logged.join('\n')).toContain('added missing records of this cell to the directory')
    cells.clock.advance(1_000)
    // Remembered as one of `main`, which knows better than to call it unknown.
    expect((await send(IMAGES_CALL, bearer(made.secret))).status).toBe(503)
    await router.refresh()
    for (const secret of [before, made.secret]) expect((await send(IMAGES_CALL, bearer(secret))).status).toBe(200)
    const unknown = send(IMAGES_CALL, bearer(newSecret().secret))
    expect(await refusalOf(unknown)).toMatchObject({ status: 401, code: 'invalid_api_key' })
  })

  test('a payment that was used there buys nothing here', async () => {
    const calls = cells.main.images.asked.length
    expect((await send(IMAGES_CALL, { authorization: made.payment })).status).toBe(402)
    expect(cells.main.images.asked.length).toBe(calls)
    // The chain knows that payment, too. It does not know one that was claimed and not sent yet.
    const taken = await cells.main.core.stores.paymentClaims.take(made.claim, cells.clock.now())
    expect(taken).toEqual({ kind: 'refused', why: 'in_use' })
  })

  test('a reference under which a grant was booked there books nothing here', async () => {
    const [root] = await cells.main.core.accounts.list(1, null)
    expect(await (await grant(root?.id ?? '')).json()).toMatchObject({ error: { code: 'invalid_state' } })
  })

  test('operators list an account whose owner is lost, and erase it; from then on its key is unknown', async () => {
    const command = async (name: string, form: object = {}) => (await cells.main.control(name, form)).json()
    expect(await command('show', { account: made.id })).toMatchObject({ account: { id: made.id, email: null } })
    const { accounts } = (await command('list')) as { accounts: readonly { id: string; email: string | null }[] }
    expect(accounts.filter(({ email }) => email === null).map(({ id }) => id)).toEqual([made.id])
    expect(await command('erase', { account: made.id, confirm: made.id })).not.toHaveProperty('error')
    expect(await refusalOf(send(IMAGES_CALL, bearer(made.secret)))).toMatchObject({ status: 401 })
  })
})
