import { expect, test } from 'bun:test'
import { listings, mcpServerJson } from '../../../server/core/payments/publication'

const SELF = { isSandbox: false, facilitator: null }
const PUBLIC = { origin: 'https://api.example.com', methods: ['tempo', 'evm'], ...SELF }
const problemsOf = (published: Parameters<typeof listings>[0]) =>
  Object.fromEntries(listings(published).map(({ directory, problems }) => [directory, problems.join(' ')]))

test('a public gateway that takes both kinds of money is listed everywhere but in the Bazaar', () => {
  expect(listings(PUBLIC).map(({ directory, lists }) => [directory, lists.length > 0])).toEqual([
    ['MCP registry', true],
    ['directories that read /.well-known/x402', true],
    ['MPP services', true],
    ['x402 Bazaar', false],
  ])
})

test('a gateway whose payments a facilitator settles is listed in the Bazaar of that facilitator', () => {
  const bazaar = listings({ ...PUBLIC, facilitator: 'facilitator.example' }).at(-1)
  expect(bazaar).toMatchObject({ lists: [expect.stringContaining('facilitator.example')], problems: [] })
})

test('each reason why a directory lists nothing is named', () => {
  const local = problemsOf({ origin: 'http://127.0.0.1:3000', methods: ['tempo'], isSandbox: true, facilitator: null })
  for (const problems of Object.values(local)) {
    expect(problems).toContain('directories list https only')
    expect(problems).toContain('a public domain name')
  }
  expect(local['MPP services']).toContain('No payment in real money is offered')
  expect(local['directories that read /.well-known/x402']).toContain('PAYMENTS_EVM_*')
  expect(problemsOf({ ...PUBLIC, isSandbox: true, methods: ['tempo', 'evm'] })['MPP services']).toBe('')
  for (const origin of ['https://[::1]:3000', 'https://10.0.0.1', 'https://gateway'])
    expect(problemsOf({ ...PUBLIC, origin })['MCP registry']).toContain('a public domain name')
})

test('server.json names the gateway by its domain in reverse, and fits what the registry asks', () => {
  const { name, description, remotes } = mcpServerJson('https://api.example.com', '2.0.0')
  expect(name).toBe('com.example.api/gateway')
  expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/)
  expect(description.length).toBeLessThanOrEqual(100)
  expect(remotes).toEqual([{ type: 'streamable-http', url: 'https://api.example.com/mcp' }])
})
