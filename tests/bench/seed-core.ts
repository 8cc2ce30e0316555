import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Account } from '../../server/core/accounts/account'
import { type BenchGateway, benchConfig, newKey, openBenchGateway, widen } from './bench-gateway'
import { obey } from './workshop'

/**
 * Makes accounts and keys through the core, in a process of its own, because a connection that libSQL has closed may keep its
 * locks for the life of its process. `seed-core.ts keys FOLDER COUNT` writes the secrets to keys.txt and says `ready`;
 * `seed-core.ts owners FOLDER COUNT` signs up owners over HTTP, with ten keys each, and says `ready JSON`.
 */
export interface SeededOwner {
  readonly accountId: string
  readonly cookie: string
  readonly keys: readonly { id: string; secret: string }[]
}

export const KEYS_EACH = 10

if (import.meta.main) {
  const [what, folder = '', count = '0'] = process.argv.slice(2)
  const gateway = await openBenchGateway(benchConfig(folder), 'http://127.0.0.1:9')
  const said = what === 'owners' ? JSON.stringify(await seedOwners(gateway, Number(count))) : ''
  if (what === 'keys') writeFileSync(join(folder, 'keys.txt'), (await seedKeys(gateway, Number(count))).join('\n'))
  await gateway.close()
  process.on('SIGTERM', () => process.exit(0))
  process.stdout.write(`ready ${said}\n`)
  await obey({})
}

function seedKeys(gateway: BenchGateway, count: number): Promise<string[]> {
  const one = async (i: number) => {
    const account = await gateway.core.signUp.openAccount(`bench-${i}`)
    if (!account) throw new Error('no account')
    await widen(gateway, account)
    return (await newKey(gateway, account, 'bench')).secret
  }
  return Promise.all(Array.from({ length: count }, (_, i) => one(i)))
}

async function seedOwners(gateway: BenchGateway, count: number): Promise<SeededOwner[]> {
  const owners: SeededOwner[] = []
  for (let i = 0; i < count; i++) {
    const answer = await gateway.app.handle(
      new Request('http://127.0.0.1/api/auth/sign-up/email', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'Ada', email: `owner-${i}@example.com`, password: 'correct horse battery' }),
      }),
    )
    const cookie = answer.headers.getSetCookie().map((line) => line.split(';')[0])
    const [account] = (await gateway.core.accounts.list(1, null)) as [Account]
    await widen(gateway, account)
    const keys = []
    for (let k = 0; k < KEYS_EACH; k++) keys.push(await newKey(gateway, account, `key ${k}`))
    owners.push({ accountId: account.id, cookie: cookie.join('; '), keys })
  }
  return owners
}
