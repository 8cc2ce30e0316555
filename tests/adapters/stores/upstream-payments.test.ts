import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UpstreamPayment } from '../../../server/core/apis/payments/upstream-payment'
import { makeId } from '../../../server/core/ids'
import { micros } from '../../../server/core/money'
import { NOON, openTestStores } from '../../support/ledger-parts'

const MAXIMA = { inAll: micros(1_000_000), perPayee: micros(1_000_000) }

function payment(change: Partial<UpstreamPayment> = {}): UpstreamPayment {
  const request = makeId('req', NOON)
  return {
    request,
    account: null,
    operation: 'weather.forecast',
    api: 'weather',
    chainId: 1,
    token: '0xb2',
    payer: '0xaa',
    payee: '0xa1',
    amount: 1n,
    cost: micros(1),
    fee: micros(0),
    nonce: request,
    validBefore: NOON / 1000 + 40,
    signedAt: NOON,
    ...change,
  }
}

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-payments-'))
  await run(folder)
  await rm(folder, { recursive: true, force: true })
}

test('the network fee of a payment counts towards the daily maxima: the smallest payments cannot empty the wallet', () =>
  inFolder(async (folder) => {
    const { upstreamPayments: payments, close } = await openTestStores({ folder })
    const open = (maxima: typeof MAXIMA) => payments.open(payment({ fee: micros(2000) }), maxima, 0)
    const inAll = await Promise.all(Array.from({ length: 20 }, () => open({ ...MAXIMA, inAll: micros(10_000) })))
    expect(inAll.toSorted()).toEqual([...Array(16).fill('cap'), ...Array(4).fill('opened')])
    expect(await open({ ...MAXIMA, perPayee: micros(10_000) })).toBe('cap')
    expect(await payments.counted(NOON)).toBe(micros(4 * 2001))
    await close()
  }))
