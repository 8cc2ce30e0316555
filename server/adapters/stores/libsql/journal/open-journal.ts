import { existsSync, readFileSync } from 'node:fs'
import type { DiskReserve, JournalRecord } from '../../../../core/ledger/journal'
import type { LogCopy, LogEnd, LoggedGroup, OpenLogCopy } from '../../../../core/ledger/log-copy'
import { stuckKind } from '../../../../core/ledger/stuck-record'
import { reasonOf } from '../../../../core/result'
import type { JournalState } from '../../../../core/telemetry/telemetry'
import type { Connection } from '../driver/worker/worker-connection'
import type { WorkerThreads } from '../driver/worker/worker-threads'
import type { WriteQueue } from '../driver/write-queue'
import { DirectChangeLog, noteDirectChanges } from './direct-changes'
import { DirectSink } from './direct-sink'
import { GroupCommit } from './group-commit'
import { MAX_GROUP_BYTES } from './group-size'
import { joinLogs } from './joined-log'
import { LogApplier } from './log-applier'
import { LogFile } from './log-file'
import { decodeLog, LogDamaged, type LogExtent, logExtent } from './log-format'
import { LogJournal, LogSink } from './log-journal'
import { STUCK_STATE, stuckStatements } from './stuck-statements'

export interface JournalOptions {
  /** The database file; null for a database over the network. */
  readonly file: string | null
  readonly writes: WriteQueue
  readonly reader: Pick<Connection, 'send' | 'rows'>
  readonly threads: WorkerThreads
  readonly patienceMs: number
  /** Of the disk of a database file, for charges of calls in progress; 0 keeps none. */
  readonly reserveBytes: number
  readonly onReserve: (problem: string | null) => void
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  /** Records got stuck, or were decided. */
  readonly onStuck: () => void
  /** Opens the log's second place; null without one. For a database file only. */
  readonly openCopy: OpenLogCopy | null
}

export interface OpenJournal {
  readonly journal: GroupCommit | LogJournal
  /** Null for a database over the network. */
  readonly reserve: DiskReserve | null
  /** Null without a second place. */
  readonly copy: LogCopy | null
  /** Resolves when everything committed so far is in the tables and visible to readers. */
  applied(): Promise<void>
  /** How far the disk and the tables are behind. */
  state(): Omit<JournalState, 'queuedWrites'>
  close(): Promise<void>
}

const NOT_BEHIND = {
  unappliedBytes: 0,
  unappliedMs: 0,
  isBehind: false,
  isDiskFull: false,
  copyWaitingMs: 0,
  hasLease: true,
}

/** The path of a database file's log. */
const logPathOf = (file: string) => `${file}.log`

/** For a database file: a log with its applier, after replaying an existing log. For any other database: group commits to the tables. */
export async function openJournal(options: JournalOptions): Promise<OpenJournal> {
  const { file, patienceMs, onTrouble, onStuck } = options
  const onRefused = (record: JournalRecord, reason: string) => putAside(options, record, reason)
  const direct = new GroupCommit({ sink: directSink(options), patienceMs, onTrouble, onRefused })
  if (file === null)
    return {
      journal: direct,
      reserve: null,
      copy: null,
      applied: async () => undefined,
      state: () => ({ ...NOT_BEHIND, ...direct.backlog, droppedNotes: direct.droppedNotes }),
      close: () => direct.drained(),
    }
  const path = logPathOf(file)
  const { writes, threads, reserveBytes, onReserve, onFatal } = options
  const applied = await ownerNumber(options, 'applied_group')
  if (applied === null) throw new Error('another process owns the database now')
  const replayed = await replay(path, applied, writes, onTrouble)
  const copy = await joinedCopy(options, replayed.lines)
  const last = copy?.end.number ?? replayed.last
  const onDamage = (reason: string) => void rescuer.rescue(reason)
  const stuck = String((await options.reader.rows(STUCK_STATE))[0]?.[0])
  const applier = new LogApplier({ log: path, writes, lastApplied: last, stuck, onFatal, onDamage, onTrouble, onStuck })
  const log = await LogFile.open({ path, last, threads, reserveBytes, onReserve, onFatal, onDamage })
  const rescuer = new LogRescuer({ log, applier, onFatal })
  const sink = new LogSink({ log, copy: copy?.log ?? null, applier, onTrouble })
  const logged = new GroupCommit({ sink, patienceMs, onTrouble })
  if (copy) await logDirectChanges(options, logged, copy.log)
  const journal = new LogJournal({ direct, logged, applier })
  return {
    journal,
    reserve: log,
    copy: copy?.log ?? null,
    applied: () => applier.applied(),
    state: () => ({
      ...journal.backlog,
      unappliedBytes: applier.unappliedBytes,
      unappliedMs: applier.unappliedMs,
      isBehind: applier.isBehind,
      isDiskFull: log.problem !== null,
      copyWaitingMs: copy?.log.waitingMs ?? 0,
      hasLease: !copy?.log.problem,
      droppedNotes: applier.droppedNotes,
    }),
    async close() {
      await journal.drained()
      applier.stop()
      if (applier.lastApplied === log.lastNumber) await log.empty()
      await log.close()
      await copy?.log.close()
    },
  }
}

/** Opens the second place and brings both logs to one end, which the tables have then. Null without one. */
async function joinedCopy(
  { openCopy, writes, reader }: JournalOptions,
  lines: () => readonly LoggedGroup[],
): Promise<{ readonly log: LogCopy; readonly end: LogEnd } | null> {
  if (!openCopy) return null
  const [[number, chain] = []] = await reader.rows('SELECT applied_group, applied_chain FROM owner WHERE id = 1')
  const local = { number: Number(number), chain: String(chain) }
  const log = await openCopy(local)
  try {
    const apply = async (groups: readonly LoggedGroup[]) => {
      await writes.apply({ log: { groups }, maxRecords: MAX_BATCH, maxBytes: MAX_GROUP_BYTES, bestEffort: null })
    }
    return { log, end: await joinLogs({ end: local, lines, apply }, log) }
  } catch (error) {
    await log.close()
    throw error
  }
}

/** Logs the direct changes that the previous process did not, and each one from here on. */
async function logDirectChanges(
  { writes, reader, patienceMs }: JournalOptions,
  logged: GroupCommit,
  copy: LogCopy,
): Promise<void> {
  const changes = new DirectChangeLog(logged, copy, patienceMs)
  const rows = await reader.rows('SELECT seq, change FROM direct_changes ORDER BY seq')
  const left = rows.map(([seq, change]) => ({ seq: Number(seq), ...JSON.parse(String(change)) }))
  if (left.length > 0) await changes.money(left)
  await noteDirectChanges(writes, reader)
  writes.logChanges(changes, left.at(-1)?.seq ?? 0)
}

/**
 * A charge or reversal that the tables refuse before it is acknowledged: counters and tables disagree, so the account must grant nothing
 * more. A record that an operator decided is not put aside again.
 */
function putAside({ writes, onTrouble, onStuck }: JournalOptions, record: JournalRecord, reason: string): void {
  if (record.settles !== undefined || stuckKind(record) === 'other') return
  writes.batch(stuckStatements(record, 'direct', reason)).then(onStuck, (error: unknown) => {
    onTrouble('stuck', reasonOf(error))
  })
}

function directSink(options: JournalOptions): DirectSink {
  return new DirectSink({
    writes: options.writes,
    isNoted: options.openCopy !== null,
    // Over a network, a request may still arrive after its response was lost. A file either has it or not.
    lastGroup: (after) =>
      options.file === null && !after.isAnswer ? options.writes.fenceOff() : ownerNumber(options, 'last_group'),
    onLostOwnership: () => options.onFatal('another process owns the database now'),
    onTrouble: options.onTrouble,
  })
}

/** The number only if it is from this epoch: those of another owner say nothing about ours. */
async function ownerNumber(
  { reader, writes }: Pick<JournalOptions, 'reader' | 'writes'>,
  column: 'last_group' | 'applied_group',
): Promise<number | null> {
  const sql = `SELECT ${column} FROM owner WHERE id = 1 AND epoch = ?`
  const [result] = await reader.send({ op: 'batch', mode: 'read', statements: [{ sql, args: [writes.epoch] }] })
  const [row] = result?.rows ?? []
  return row ? Number(row[0]) : null
}

/**
 * Ends the process when another hand damaged its log: no more charges are taken, those that were acknowledged go from memory to the
 * tables, and the damaged log is kept next to an empty one, so that the next start finds nothing missing.
 */
class LogRescuer {
  private readonly log: Pick<LogFile, 'halt' | 'setAside'>
  private readonly applier: Pick<LogApplier, 'rescue'>
  private readonly onFatal: (reason: string) => void
  private begun = false

  constructor(parts: { log: LogRescuer['log']; applier: LogRescuer['applier']; onFatal: (reason: string) => void }) {
    this.log = parts.log
    this.applier = parts.applier
    this.onFatal = parts.onFatal
  }

  async rescue(damage: string): Promise<void> {
    if (this.begun) return
    this.begun = true
    try {
      await this.log.halt(`the log is damaged: ${damage}`)
      await this.applier.rescue()
      const copy = await this.log.setAside()
      this.onFatal(
        `the log is damaged: ${damage}. Every charge that was answered is in the database now; what was left of the log is ${copy}. Start the gateway again.`,
      )
    } catch (error) {
      const reason = reasonOf(error)
      this.onFatal(
        `the log is damaged: ${damage}. Charges that were acknowledged could not be written to the database: ${reason}`,
      )
    }
  }
}

/** The maximum number of records per batch. */
const MAX_BATCH = 4096

/** The log cannot be applied to the tables. It is left unchanged. */
class ReplayFailed extends Error {}

/**
 * Applies the log of a previous process to the tables, each group once. Returns the number of the last group ever written, and
 * the groups that the log has. The log is no longer needed then.
 */
async function replay(
  path: string,
  applied: number,
  writes: Pick<WriteQueue, 'apply'>,
  onTrouble: (what: string, reason: string) => void,
): Promise<{ readonly last: number; readonly lines: () => readonly LoggedGroup[] }> {
  const bytes = existsSync(path) ? readFileSync(path) : new Uint8Array()
  const { first, last, goodLength } = extentOf(path, bytes)
  if (goodLength < bytes.length)
    onTrouble('log', `${bytes.length - goodLength} bytes of a write that was not finished are dropped`)
  if (first !== null && first > applied + 1)
    throw new ReplayFailed(
      `the log ${path} begins with group ${first}, but the database has groups up to ${applied} only: is it an older copy?`,
    )
  const lines = () => decodeLog(bytes.subarray(0, goodLength)).lines
  if (last === null || last <= applied) return { last: applied, lines }
  try {
    for (let from = 0; from < goodLength; ) {
      const { end } = await writes.apply({
        log: { path, from, to: goodLength },
        maxRecords: MAX_BATCH,
        maxBytes: MAX_GROUP_BYTES,
        bestEffort: null,
      })
      from = end ?? goodLength
    }
  } catch (error) {
    const reason = reasonOf(error)
    throw new ReplayFailed(`the log ${path} cannot be applied up to group ${last}: ${reason}`)
  }
  return { last, lines }
}

function extentOf(path: string, bytes: Uint8Array): LogExtent {
  try {
    return logExtent(bytes)
  } catch (error) {
    if (error instanceof LogDamaged) throw new ReplayFailed(`the log ${path} is damaged: ${error.message}`)
    throw error
  }
}
