import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { buildIndex } from '../../server/adapters/websearch/local/build/build-index'
import { contextProvider } from '../../server/adapters/websearch/local/context-provider'
import { openIndexClient } from '../../server/adapters/websearch/local/index-client'
import { contextInput } from '../adapters/websearch/local/fixture-index'

/**
 * The memory that a second thread of searches costs, and the answers that it brings, over the index of a new install:
 * `bun run bench:threads`. The index is built in a process of its own, so that what building took is not counted.
 */

const { values } = parseArgs({ options: { build: { type: 'string' }, seconds: { type: 'string', default: '4' } } })
const root = resolve(import.meta.dir, '../..')
const WORDS = ['stream', 'payment', 'schema', 'middleware', 'wallet', 'router', 'tokens', 'escape', 'plugin', 'cookei']
const CALLERS = Array.from({ length: 20 }, (_, at) => `caller ${at}`)

async function measure(indexPath: string, maxThreads: number): Promise<void> {
  const client = openIndexClient({ indexPath, maxThreads })
  const provider = contextProvider(client, undefined, 'http://localhost', () => Date.now())
  let asked = 0
  const search = async (caller: string): Promise<void> => {
    const q = [WORDS[asked % 10], WORDS[Math.floor(asked / 10) % 10]].join(' ')
    asked++
    const answer = await provider.call(contextInput(q), AbortSignal.timeout(60_000), { caller, traceparent: null })
    if (!answer.ok) throw new Error(answer.error.reason)
  }
  await search('first')
  await Promise.all(CALLERS.map(search))
  for (let round = 0; round < 2; round++) {
    const times: number[] = []
    const cpu = process.cpuUsage()
    const end = performance.now() + Number(values.seconds) * 1000
    await Promise.all(
      CALLERS.map(async (caller) => {
        while (performance.now() < end) {
          const started = performance.now()
          await search(caller)
          times.push(performance.now() - started)
        }
      }),
    )
    times.sort((a, b) => a - b)
    const { user, system } = process.cpuUsage(cpu)
    const each = ((user + system) / 1000 / times.length).toFixed(1)
    const p50 = times[Math.floor(times.length / 2)]?.toFixed(0)
    console.log(
      `threads: ${maxThreads}, ${times.length} answers, p50 ${p50} ms, ${each} ms of processor time each; memory ${megabytes()} MB`,
    )
  }
  await client.close()
}

function megabytes(): number {
  return Math.round(process.memoryUsage().rss / 1e6)
}

if (values.build !== undefined) {
  await buildIndex({ indexPath: values.build, nodeModules: join(root, 'node_modules'), projectRoot: root })
} else {
  const folder = mkdtempSync(join(tmpdir(), 'bench-threads-'))
  const indexPath = join(folder, 'search.db')
  try {
    const built = Bun.spawn([process.execPath, import.meta.path, '--build', indexPath], {
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    if ((await built.exited) !== 0) throw new Error('the index was not built')
    for (const threads of [1, 2]) await measure(indexPath, threads)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
