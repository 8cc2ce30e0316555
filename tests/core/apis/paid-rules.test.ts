import { describe, expect, test } from 'bun:test'
import type { Api, ApiPrice } from '../../../server/core/apis/api'
import { apiProblems } from '../../../server/core/apis/api-rules'
import { soldPart } from '../../../server/core/apis/catalog/import-plan'
import { micros } from '../../../server/core/money'
import { apiPriceOf, priceRecordOf } from '../../../server/http/apis/price-record'
import { anApi, anOperation } from '../../support/apis'

const PAYEE = `0x${'a1'.repeat(20)}`
const PRICE: ApiPrice = {
  mode: 'reported',
  figure: { kind: 'paid' },
  unit: 'micros',
  multiplier: '1.2',
  minimum: micros(0),
  maximum: micros(50_000),
  onMissing: null,
}
const RECORD = { mode: 'reported', unit: 'paid', multiplier: '1.2', minimum_usd: '0.00', maximum_usd: '0.05' } as const
const problems = (api: Partial<Api>, price: ApiPrice = PRICE, hasWallet = true) => {
  const operations = [anOperation({ price, method: 'POST', effect: 'write' })]
  const paid = anApi({ auth: { kind: '402', payees: [PAYEE] }, operations, ...api })
  return apiProblems(paid, { reserved: new Set(), ownOrigins: new Set(), hasWallet }).map(({ param }) => param)
}

describe('an API whose upstream is paid per request', () => {
  test('needs a wallet, payees, no cache, and a price by the amount paid', () => {
    expect(problems({})).toEqual([])
    expect(problems({}, PRICE, false)).toEqual(['auth'])
    expect(problems({ auth: { kind: '402', payees: [] } })).toEqual(['auth'])
    expect(problems({ auth: { kind: '402', payees: [PAYEE, 'everybody'] } })).toEqual(['auth'])
    expect(problems({ cacheSeconds: 1 })).toEqual(['auth'])
    expect(problems({}, { mode: 'fixed', amount: micros(1) })).toEqual(['operations.forecast'])
    expect(problems({ operations: [anOperation({ price: PRICE, answer: 'stream' })] })).toEqual(['operations.forecast'])
  })

  test('is the only kind with such a price, and no API may name a variable of the wallet', () => {
    expect(problems({ auth: { kind: 'none' } })).toEqual(['operations.forecast'])
    const secret = { from: 'environment', name: 'UPSTREAM_WALLET_KEY' } as const
    expect(problems({ auth: { kind: 'bearer', secret } })).toContain('auth')
  })

  test('leaves an operation with another price out of an import, and says why', () => {
    const operations = [anOperation({ price: { mode: 'fixed', amount: micros(1) } })]
    const { refused } = soldPart(anApi({ auth: { kind: '402', payees: [PAYEE] }, operations }))
    expect(refused.map(({ reason }) => reason)).toEqual([
      'It cannot be sold: price must be reported, with the unit paid: the auth is 402.',
    ])
  })

  test('shows its price as it was written', () => {
    const record = priceRecordOf(PRICE)
    expect(record).toMatchObject({ mode: 'reported', unit: 'paid', multiplier: '1.2' })
    expect(apiPriceOf(record)).toEqual(PRICE)
    expect(apiPriceOf(RECORD)).toEqual(PRICE)
  })
})
