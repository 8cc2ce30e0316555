import type { Connection } from '../driver/worker-connection'
import type { WriteQueue } from '../driver/write-queue'
import { DirectSink } from './direct-sink'
import { GroupCommit } from './group-commit'
import { Applier } from './log-applier'
import { LogFile } from './log-file'
import { LogJournal } from './log-journal'
import { LogSink } from './log-sink'
import { replay } from './replay'

export interface JournalOptions {
  /** The database's file; null when it is behind a network. */
  readonly file: string | null
  readonly writes: WriteQueue
  readonly reader: Pick<Connection, 'send'>
  readonly patienceMs: number
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
}

export interface OpenJournal {
  readonly journal: GroupCommit | LogJournal
  /** Resolves when the tables have what was committed so far, so that a reader sees it. */
  applied(): Promise<void>
  close(): Promise<void>
}

/** Where the log of a database file stands. */
const logPathOf = (file: string) => `${file}.log`

/** A log and its applier for a database file, whose log is replayed first; group commits to the tables for any other. */
export async function openJournal(options: JournalOptions): Promise<OpenJournal> {
  const { file, patienceMs, onTrouble } = options
  const direct = new GroupCommit({ sink: directSink(options), patienceMs, onTrouble })
  if (file === null) return { journal: direct, applied: async () => undefined, close: () => direct.drained() }
  const path = logPathOf(file)
  const { writes, onFatal } = options
  const applied = await ownerNumber(options, 'applied_group')
  if (applied === null) throw new Error('another process owns the database now')
  const last = await replay(path, applied, writes, onTrouble)
  const applier = new Applier({ log: path, writes, lastApplied: last, onFatal, onTrouble })
  const log = await LogFile.open(path, last, onFatal)
  const logged = new GroupCommit({ sink: new LogSink({ log, applier, onTrouble }), patienceMs, onTrouble })
  const journal = new LogJournal({ direct, logged, applier })
  return {
    journal,
    applied: () => applier.applied(),
    async close() {
      await journal.drained()
      applier.stop()
      if (applier.lastApplied === log.lastNumber) await log.empty()
      await log.close()
    },
  }
}

function directSink(options: JournalOptions): DirectSink {
  return new DirectSink({
    writes: options.writes,
    // A request on a network may still be on its way when its answer is lost; a file has it or has it not.
    lastGroup: (after) =>
      options.file === null && !after.isAnswer ? options.writes.fenceOff() : ownerNumber(options, 'last_group'),
    onLostOwnership: () => options.onFatal('another process owns the database now'),
    onTrouble: options.onTrouble,
  })
}

/** A number of this epoch only: those of another owner say nothing about ours. */
async function ownerNumber(
  { reader, writes }: Pick<JournalOptions, 'reader' | 'writes'>,
  column: 'last_group' | 'applied_group',
): Promise<number | null> {
  const sql = `SELECT ${column} FROM owner WHERE id = 1 AND epoch = ?`
  const [result] = await reader.send({ op: 'batch', mode: 'read', statements: [{ sql, args: [writes.epoch] }] })
  const [row] = result?.rows ?? []
  return row ? Number(row[0]) : null
}
