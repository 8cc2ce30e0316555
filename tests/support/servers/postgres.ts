import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { HERE, INIT, postgresIn } from '../../../tools/postgres'
import { until } from '../until'
import { freePort } from './free-port'
import { noteServer } from './running-servers'

export type Postgres = Awaited<ReturnType<typeof startPostgres>>

/** A real server on a port of this machine, with its own data or, as a replica, that of the server at a port. */
export async function startPostgres(primaryPort: number | null = null) {
  const folder = mkdtempSync(join(tmpdir(), 'pg-'))
  const run = postgresIn(folder)
  const made =
    primaryPort === null
      ? run('initdb', INIT)
      : run('pg_basebackup', [
          '-h',
          '127.0.0.1',
          '-p',
          `${primaryPort}`,
          '-U',
          'gateway',
          '-R',
          '--no-sync',
          '-c',
          'fast',
        ])
  if ((await made.exited) !== 0) throw new Error(await new Response(made.stderr).text())
  const port = await freePort()
  let server: Bun.Subprocess
  const sql = async (query: string, database = 'postgres') => {
    const client = new Client({ connectionString: urlOf(port, database) })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query(query)).rows
    } finally {
      await client.end()
    }
  }
  const start = async () => {
    // After a kill its children keep the shared memory for a moment.
    await until(async () => {
      server = run('postgres', ['-p', `${port}`, ...HERE])
      noteServer(server)
      const isUp = () =>
        sql('SELECT 1').then(
          () => true,
          () => false,
        )
      for (;;) {
        if (await isUp()) return true
        if (server.exitCode !== null) return false
        await Bun.sleep(20)
      }
    })
  }
  await start()
  return {
    port,
    sql,
    start,
    /** A database of its own. */
    async database(): Promise<{ readonly name: string; readonly url: string }> {
      const name = `log_${crypto.randomUUID().slice(0, 8)}`
      await sql(`CREATE DATABASE ${name}`)
      return { name, url: urlOf(port, name) }
    },
    async kill(signal: NodeJS.Signals): Promise<void> {
      server.kill(signal)
      await server.exited
    },
    signal: (signal: NodeJS.Signals) => server.kill(signal),
    async close(): Promise<void> {
      server.kill('SIGKILL')
      await server.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function urlOf(port: number, database: string): string {
  return `postgres://gateway@127.0.0.1:${port}/${database}`
}

/** A relay in front of a server that breaks connections at a point that the test chooses. */
export async function startRelay(port: number) {
  let target = port
  /** Called with each piece of bytes and its direction; true cuts the connection in place of passing it on. */
  let cuts: (direction: 'in' | 'out', bytes: Buffer) => boolean = () => false
  let change = (_direction: 'in' | 'out', bytes: Buffer) => bytes
  let isFrozen = false
  const open = new Set<Socket>()
  const relay = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    const end = () => {
      client.destroy()
      server.destroy()
      open.delete(client)
    }
    open.add(client)
    const pass = (from: Socket, to: Socket, direction: 'in' | 'out') => {
      from.on('data', (bytes: Buffer) => {
        if (isFrozen) return
        if (cuts(direction, bytes)) return end()
        to.write(change(direction, bytes))
      })
      from.on('error', end)
      from.on('close', end)
    }
    pass(client, server, 'in')
    pass(server, client, 'out')
  })
  relay.listen(0, '127.0.0.1')
  await new Promise((resolve) => relay.once('listening', resolve))
  const address = relay.address()
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cutWhen(when: typeof cuts) {
      cuts = when
    },
    rewrite(how: typeof change) {
      change = how
    },
    /** New connections lead there. */
    leadTo(other: number) {
      target = other
      for (const socket of open) socket.destroy()
    },
    /** Bytes get lost in both directions from here on, or no more. */
    freeze(frozen: boolean) {
      isFrozen = frozen
    },
    close() {
      relay.close()
      for (const socket of open) socket.destroy()
    },
  }
}
