import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { DailyMaxima, UpstreamWallet } from '../../core/apis/payments/upstream-payment'
import { openAuthorizations } from './authorizations'
import type { TokenPayments, WalletTokenSettings } from './chain'
import { readPaymentChallenges, readReceipt } from './payment-scheme'
import { openTempoTransfers } from './tempo-transfers'

export interface WalletOptions {
  readonly key: string
  readonly tokens: readonly WalletTokenSettings[]
  readonly maxima: DailyMaxima
}

const NO_ANSWER = 'the node of its chain does not answer'
/** A balance is read again after so long. */
const BALANCE_MS = 10_000

/** The wallet that pays upstreams, with all its tokens. */
export function openWallet({ key, tokens, maxima }: WalletOptions): UpstreamWallet {
  // Its form was checked when the setting was read.
  const account = privateKeyToAccount(key as Hex)
  const opened = tokens.map((token) => {
    if (token.kind === 'tempo') {
      const transfers = openTempoTransfers(account, token)
      return { token, transfers, sign: null, trouble: watched(transfers) }
    }
    const transfers = openAuthorizations(account, token)
    return { token, transfers, sign: transfers.sign, trouble: watched(transfers) }
  })
  const find = (chainId: number, address: string) => {
    const found = opened.find(({ token }) => token.chainId === chainId && token.address === address)
    if (!found) throw new Error('the wallet does not have this token')
    return found
  }
  return {
    address: account.address.toLowerCase(),
    tokens,
    maxima,
    trouble: ({ chainId, address }, amount) => find(chainId, address).trouble(amount),
    sign(payment) {
      const { sign } = find(payment.chainId, payment.token)
      return sign ? sign(payment) : Promise.reject(new Error('this token is not paid by authorizations'))
    },
    readScheme: (header) =>
      readPaymentChallenges(header, {
        payer: account.address,
        tempo: (challenge, payment) => {
          const { transfers } = find(payment.chainId, payment.token)
          if (!('credential' in transfers)) throw new Error('this token is not paid by transfers on Tempo')
          return transfers.credential(challenge, payment)
        },
      }),
    readReceipt,
    wasCashed: (payment) => find(payment.chainId, payment.token).transfers.wasCashed(payment),
  }
}

/** Checks the token until it is known to be right, and the balance every few seconds. */
function watched({ mismatch, balance }: TokenPayments): (amount: bigint) => Promise<string | null> {
  let isRight = false
  let read = { at: Number.NEGATIVE_INFINITY, balance: 0n }
  return async (amount) => {
    try {
      if (!isRight) {
        const problem = await mismatch()
        if (problem !== null) return problem
        isRight = true
      }
      const now = performance.now()
      if (now - read.at > BALANCE_MS || read.balance < amount) read = { at: now, balance: await balance() }
      return read.balance < amount ? 'the wallet does not have enough of the token' : null
    } catch {
      return NO_ANSWER
    }
  }
}
