import { expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SANDBOX_PREFIX, SandboxNetwork } from '../../server/adapters/social/sandbox/sandbox'
import { XNetwork } from '../../server/adapters/social/x/x-network'
import { newLinkSecrets } from '../../server/core/social/state-token'
import { approval } from '../support/social/approval'
import { socialNetworkContract, type Trouble } from './social-network.contract'

const ORIGIN = 'https://gateway.example'

socialNetworkContract('sandbox', openSandbox)

async function openSandbox() {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-sandbox-'))
  const redirectUri = `${ORIGIN}/apis/v1/social/oauth_callback`
  const now = Date.UTC(2026, 10, 21, 12, 0, 20)
  const sandbox = new SandboxNetwork({ path: join(folder, 'sandbox.db'), now: () => now, redirectUri })
  const { app } = sandbox
  const network = (clientSecret: string) =>
    new XNetwork({
      name: 'sandbox',
      authorizeUrl: `${ORIGIN}${SANDBOX_PREFIX}/authorize`,
      apiUrl: ORIGIN + SANDBOX_PREFIX,
      clientId: app.clientId,
      clientSecret,
      transport: sandbox.transport,
      clock: { now: () => now },
      timeoutMs: 5000,
    })
  return {
    folder,
    network: network(app.clientSecret),
    impostor: network('another secret'),
    redirectUri,
    me: { id: '1001', username: 'ada' },
    other: { id: '1002', username: 'grace' },
    third: { id: '1003' },
    decide: (authUrl: string, decision: 'approve' | 'deny') =>
      approval((request) => sandbox.answer(request), authUrl, decision),
    async withdraw() {
      for (const { id } of await sandbox.grants.of('1001')) await sandbox.grants.withdraw('1001', id)
    },
    expire: () => sandbox.grants.expireAccess('1001'),
    trouble: (what: Trouble) => sandbox.faults.set('1001', what, 1),
    async postsSaying(text: string) {
      return (await sandbox.community.timeline(100)).filter((post) => post.text === text).length
    },
    async close() {
      await sandbox.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

test('the sandbox stores codes and tokens as hashes: what it issued is in none of its files', async () => {
  const { network, redirectUri, decide, close, folder } = await openSandbox()
  const { state, challenge, verifier } = newLinkSecrets()
  const scopes = ['tweet.read', 'users.read', 'offline.access']
  const query = await decide(network.authorizeUrl({ state, challenge, scopes, redirectUri }), 'approve')
  const code = query.get('code') ?? ''
  const grant = await network.exchange(code, verifier, redirectUri, AbortSignal.timeout(5000))
  if (!grant.ok || grant.value.refresh === null) throw new Error('no grant')
  const secrets = [code, verifier, grant.value.access, grant.value.refresh]
  const files = await readdir(folder)
  expect(files).toContain('sandbox.db')
  for (const name of files) {
    const bytes = await readFile(join(folder, name))
    expect(secrets.filter((secret) => bytes.includes(secret))).toEqual([])
  }
  await close()
})
