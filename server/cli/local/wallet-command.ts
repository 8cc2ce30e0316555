import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Mppx, tempo } from 'mppx/client'
import { type Address, createClient, type Hex, http } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { prepareTransactionRequest, readContract, sendRawTransactionSync, signTransaction } from 'viem/actions'
import { tempoLocalnet } from 'viem/chains'
import { Abis, Actions } from 'viem/tempo'
import { PUBLISHED_ACCOUNTS } from '../../core/payments/published-accounts'
import { parsedArgsWith } from '../command'
import { askServer, CommandRefused, UsageError } from '../control-client'
import { PROGRAM } from '../program'

const WALLET_HELP = `Usage: ${PROGRAM} wallet COMMAND

A test wallet on the sandbox chain of the server that runs on DATA_DIR (default: data). Its money is worthless.

  fund [USD]    add money to the wallet, which is created if needed (default: 1)
  pay URL       call URL, pay for it on the sandbox chain, and print the response and the receipt
  show          show the wallet's address, key and balance, and how to use it with other payment clients

  --help        print this help
`

const WALLET = 'wallet_key'
const MICROS = 1_000_000
const FRESH_BLOCK = 'anvil_mine'

interface Network {
  readonly rpcUrl: string
  readonly chainId: number
  readonly token: string
  readonly sandbox: boolean
}

/** Runs a wallet command. Resolves to its output. */
export async function walletCommand(args: readonly string[]): Promise<string> {
  const { values, positionals } = parsed(args)
  const [command, argument] = positionals
  if (values.help || !command) return WALLET_HELP
  switch (command) {
    case 'fund':
      return fund(argument ?? '1')
    case 'pay':
      if (!argument || !URL.canParse(argument)) throw new UsageError('"wallet pay" takes a URL; see --help')
      return pay(argument)
    case 'show':
      return show()
    default:
      throw new UsageError(`unknown wallet command "${command}"; see --help`)
  }
}

function parsed(args: readonly string[]) {
  return parsedArgsWith(args, { help: { type: 'boolean', short: 'h' } })
}

async function fund(text: string): Promise<string> {
  const usd = /^\d{1,4}(\.\d{1,6})?$/.test(text) ? Number(text) : 0
  if (!(usd > 0)) throw new UsageError('"wallet fund" takes an amount of USD such as 1 or 0.5')
  const network = await sandbox()
  const client = clientOf(network)
  const to = wallet().address
  // The public account of every development chain, which has a practically unlimited amount of this token.
  const account = privateKeyToAccount(PUBLISHED_ACCOUNTS[0].key)
  const amount = BigInt(Math.round(usd * MICROS))
  const call = Actions.token.transfer.call(client, { amount, to, token: network.token as Address })
  await freshBlock(network)
  const request = { account, calls: [call], nonceKey: 'expiring', validBefore: Math.floor(Date.now() / 1000) + 20 }
  // viem's types of Tempo transactions depend on the chain. These fields follow its documentation.
  const prepared = await prepareTransactionRequest(client, request as unknown as Preparing)
  const signed = await signTransaction(client, prepared as Parameters<typeof signTransaction>[1])
  const receipt = await sendRawTransactionSync(client, { serializedTransaction: signed as Hex })
  if (receipt.status !== 'success') throw new CommandRefused('the sandbox chain refused the transfer')
  return `${to} has ${await balanceOf(network, to)} USD of sandbox money\n`
}

async function pay(url: string): Promise<string> {
  const network = await sandbox()
  const account = wallet()
  const client = clientOf(network)
  await freshBlock(network)
  const before = await balanceOf(network, account.address)
  const payer = Mppx.create({ polyfill: false, methods: [tempo({ account, getClient: () => client })] })
  const answer = await payer.fetch(url).catch((error: unknown) => {
    throw new CommandRefused(`the payment failed: ${error instanceof Error ? error.message.split('\n')[0] : error}`)
  })
  const receipt = answer.headers.get('payment-receipt')
  const lines = [
    `${answer.status} ${url}`,
    ...(receipt ? [`receipt: ${Buffer.from(receipt, 'base64url').toString()}`] : []),
    `wallet: ${before} USD before, ${await balanceOf(network, account.address)} USD after (the chain's fee included)`,
    '',
    await answer.text(),
  ]
  if (!answer.ok) throw new CommandRefused(lines.join('\n'))
  return `${lines.join('\n')}\n`
}

async function show(): Promise<string> {
  const network = await sandbox()
  const key = walletKey()
  const { address } = privateKeyToAccount(key)
  return [
    `address   ${address}`,
    `balance   ${await balanceOf(network, address)} USD of sandbox money`,
    `key       ${key}`,
    '',
    'To use it with the payment library, in the newest versions that the sandbox chain takes:',
    `  MPPX_PRIVATE_KEY=${key} MPPX_RPC_URL=${network.rpcUrl} npx -y -p mppx@0.11.0 -p viem@2.57.13 mppx 'URL'`,
    '',
  ].join('\n')
}

async function sandbox(): Promise<Network> {
  const { network } = (await askServer('GET', '/api/operator/payments')) as { network: Network | null }
  if (!network)
    throw new CommandRefused(
      'the server offers no sandbox chain now: PAYMENTS is off or evm, or the chain does not answer, which its log says',
    )
  if (!network.sandbox)
    throw new CommandRefused('the server uses a real chain, but this wallet only works on the sandbox chain')
  return network
}

type Preparing = Parameters<typeof prepareTransactionRequest>[1]

function clientOf({ rpcUrl }: Network) {
  return createClient({ chain: tempoLocalnet, transport: http(rpcUrl) })
}

async function balanceOf(network: Network, address: Address): Promise<string> {
  const query = { address: network.token as Address, abi: Abis.tip20, functionName: 'balanceOf' } as const
  const units = await readContract(clientOf(network), { ...query, args: [address] })
  return (Number(units) / MICROS).toFixed(6)
}

/** Mines a block: an idle chain's newest block is old, and the chain calculates the lifetime of a transfer from it. */
async function freshBlock({ rpcUrl }: Network): Promise<void> {
  await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: FRESH_BLOCK, params: ['0x1'] }),
  })
}

function wallet() {
  return privateKeyToAccount(walletKey())
}

/** Created on first use, readable only by this user. */
function walletKey(): Hex {
  const file = join(resolve(process.env['DATA_DIR'] || 'data'), WALLET)
  if (!existsSync(file)) writeFileSync(file, generatePrivateKey(), { mode: 0o600 })
  return readFileSync(file, 'utf8').trim() as Hex
}
