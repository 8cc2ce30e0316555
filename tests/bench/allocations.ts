import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { table } from './statistics'
import type { Workshop } from './workshop'

/** The memory that one call leaves behind, counted in a process of its own without a socket. */
interface Allocated {
  readonly kind: Kind
  /** Cells of the JavaScript heap: objects, strings, functions, scopes. */
  readonly cells: number
  /** The most frequent of them, by their class. */
  readonly classes: readonly (readonly [string, number])[]
}

export type AllocationsResult = readonly Allocated[]

const KINDS = ['search', 'imported', 'chat', 'stream'] as const
type Kind = (typeof KINDS)[number]

/**
 * Counts what a call allocates. Unlike every time, the count is the same on a busy machine, and it is what a call costs the caches
 * and the collector: a test of whether a change made the path lighter.
 */
export async function measureAllocations(workshop: Workshop): Promise<AllocationsResult> {
  const template = await workshop.folder('allocations')
  await workshop.once('seed-core.ts', ['keys', template, '4'])
  const found: Allocated[] = []
  for (const kind of KINDS) {
    const folder = await workshop.folder(kind)
    cpSync(template, folder, { recursive: true })
    found.push({ kind, ...(await counted(folder, kind)) })
    workshop.removeFolder(folder)
  }
  workshop.removeFolder(template)
  return found
}

/** A heap so large that no collection runs while it counts. */
const NO_COLLECTIONS = { BUN_JSC_largeHeapSize: '3000000000', BUN_JSC_mediumHeapRAMFraction: '0.9' }

async function counted(folder: string, kind: Kind): Promise<Omit<Allocated, 'kind'>> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'allocating-calls.ts'), folder, kind], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...NO_COLLECTIONS },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const said = await new Response(child.stdout).text()
  if ((await child.exited) !== 0) throw new Error(`allocating-calls.ts failed for ${kind}`)
  return JSON.parse(said)
}

export function describeAllocations(result: AllocationsResult): string {
  return table(
    ['A call', 'cells of the JavaScript heap', 'most of them'],
    result.map(({ kind, cells, classes }) => [
      kind,
      cells.toFixed(0),
      classes.map(([name, count]) => `${name} ${count.toFixed(0)}`).join(', '),
    ]),
  )
}
