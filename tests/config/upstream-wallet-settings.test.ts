import { describe, expect, test } from 'bun:test'
import { readConfig } from '../../server/config'
import { TOKEN, WALLET_KEY, walletEnv } from '../support/payments/paid-upstream'

const SECRET_KEY = 'a secret that only tests know, 32 bytes and more'
const RPC = 'https://rpc.example.com/key-of-the-node'
const walletOf = (env: Record<string, string>) => readConfig({ SECRET_KEY, NODE_ENV: 'test', ...env }, {}).apis.wallet
const tokens = (list: unknown) => ({ ...walletEnv(RPC), UPSTREAM_WALLET_TOKENS: JSON.stringify(list) })

describe('the wallet that pays upstreams', () => {
  test('has a list of tokens, and is not there without its settings', () => {
    expect(walletOf({})).toBeNull()
    const tempo = { kind: 'tempo', chain_id: 1337, token: TOKEN, rpc_url: RPC }
    const wallet = walletOf({
      ...walletEnv(RPC),
      UPSTREAM_WALLET_TOKENS: JSON.stringify([
        { chain_id: 8453, token: TOKEN, name: 'USD Coin', version: '2', rpc_url: RPC },
        tempo,
      ]),
    })
    expect(wallet?.tokens.map(({ kind, chainId, decimals }) => [kind, chainId, decimals])).toEqual([
      ['eip3009', 8453, 6],
      ['tempo', 1337, 6],
    ])
    expect(Number(wallet?.maxima.perPayee)).toBe(50_000)
  })

  test.each<[string, Record<string, string>, string]>([
    ['half of its settings', { UPSTREAM_WALLET_KEY: WALLET_KEY }, 'UPSTREAM_WALLET_TOKENS'],
    ['no key', { ...walletEnv(RPC), UPSTREAM_WALLET_KEY: '0x12' }, 'private key'],
    ['no JSON', { ...walletEnv(RPC), UPSTREAM_WALLET_TOKENS: 'USDC' }, 'JSON list'],
    ['no tokens', tokens([]), 'JSON list'],
    ['no chain', tokens([{ token: TOKEN, rpc_url: RPC }]), 'chain_id'],
    ['no contract', tokens([{ chain_id: 1, token: 'USDC', rpc_url: RPC }]), 'token'],
    ['no signing name', tokens([{ chain_id: 1, token: TOKEN, rpc_url: RPC }]), 'name and version'],
    ['few decimals', tokens([{ kind: 'tempo', chain_id: 1, token: TOKEN, decimals: 2, rpc_url: RPC }]), 'decimals'],
    ['no node', tokens([{ kind: 'tempo', chain_id: 1, token: TOKEN, rpc_url: 'key-of-the-node' }]), 'rpc_url'],
    ['another kind', tokens([{ kind: 'erc20', chain_id: 1, token: TOKEN, rpc_url: RPC }]), 'kind'],
    ['an unknown member', tokens([{ chain: 1 }]), 'chain is not known'],
    [
      'a token twice',
      tokens(Array(2).fill({ kind: 'tempo', chain_id: 1, token: TOKEN, rpc_url: RPC })),
      'names a token twice',
    ],
  ])('is refused with %s, and the message has no secret', (_, env, rule) => {
    let message = ''
    try {
      walletOf(env)
    } catch (error) {
      message = String(error)
    }
    expect(message).toContain(rule)
    expect(message).not.toMatch(/key-of-the-node|5a5a5a/)
  })
})
