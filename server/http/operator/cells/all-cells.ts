import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import { failure } from '../../../core/failure'
import { inTimeOrNull } from '../../../core/in-time'
import { Failed } from '../../middleware/response/failures'
import type { AllCells } from './cell-routing'
import { type Asked, type Cells, csvRecords, csvText, lineRecords } from './files'

/** Says which cells an answer is without. */
const MISSING_CELLS = 'x-missing-cells'
/** How long a cell may take to answer; to begin a file. */
const MAX_MS = 30_000
/** A cell that has not answered by then is left out if its database does not answer. */
const SLOW_MS = 5_000

/** What goes to several cells. */
export interface CellQuestion {
  readonly ask: (cell: CellName) => Promise<Response>
  /** A parameter of it. */
  readonly asked: Asked
  /** Whether the cell's database answers. */
  readonly isUp: (cell: CellName) => Promise<boolean>
  /** For tests. */
  readonly slowMs?: number
}

interface Answered {
  readonly answers: readonly Response[]
  readonly missing: readonly CellName[]
}

/**
 * Asks the cells, `main` first, and joins what they answer. A refusal of one is the answer. A cell that does not answer is named; if none does,
 * the failure of the first is the answer.
 */
export async function answerOfAll(
  cells: readonly CellName[],
  target: AllCells,
  question: CellQuestion,
): Promise<Response> {
  const given = await Promise.all(cells.map((cell) => answerOf(cell, question)))
  const refusal = given.find((answer) => answer && answer.status >= 400 && answer.status < 500)
  if (refusal) return only(refusal, given)
  const answered = {
    answers: given.flatMap((answer) => (answer?.ok ? answer : [])),
    missing: cells.filter((_, at) => !given[at]?.ok),
  }
  if (answered.answers.length === 0) return only(given.find((answer) => answer !== null) ?? nobody(), given)
  await Promise.all(given.map((answer) => (answer?.ok ? null : answer?.body?.cancel())))
  return target.kind === 'report' ? reportOf(cells, target, answered, question) : fileOf(target, answered, question)
}

/** Null if it does not answer in time. */
async function answerOf(cell: CellName, question: CellQuestion): Promise<Response | null> {
  return inTimeOrNull(unlessDown(cell, question), MAX_MS)
}

/** The answer of a cell. Rejects some seconds after the question if the cell's database does not answer: a query would wait for it much longer. */
export async function unlessDown(
  cell: CellName,
  { ask, isUp, slowMs = SLOW_MS }: Omit<CellQuestion, 'asked'>,
): Promise<Response> {
  const answer = ask(cell)
  const down = Promise.withResolvers<never>()
  let isOver = false
  const timer = setTimeout(async () => {
    if ((await isUp(cell)) || isOver) return
    down.reject(new Error('its database does not answer'))
    // Nobody reads what comes later.
    await answer.then(({ body }) => body?.cancel()).catch(() => undefined)
  }, slowMs)
  try {
    return await Promise.race([answer, down.promise])
  } finally {
    isOver = true
    clearTimeout(timer)
  }
}

async function only(chosen: Response, given: readonly (Response | null)[]): Promise<Response> {
  await Promise.all(given.map((answer) => (answer === chosen ? null : answer?.body?.cancel())))
  return chosen
}

function nobody(): never {
  throw new Failed(failure('service_unavailable', 'No cell answers. Try again.', { retryAfterSeconds: 1 }))
}

async function reportOf(
  cells: readonly CellName[],
  { join }: Extract<AllCells, { kind: 'report' }>,
  { answers, missing }: Answered,
  { asked }: CellQuestion,
): Promise<Response> {
  const answering = cells.filter((cell) => !missing.includes(cell))
  const read = await Promise.all(answers.map((answer) => inTimeOrNull(answer.json(), MAX_MS)))
  const cut = answering.filter((_, at) => read[at] === null)
  const bodies = read.filter((body) => body !== null)
  if (bodies.length === 0) return nobody()
  const absent = cells.filter((cell) => missing.includes(cell) || cut.includes(cell))
  const joined = join(
    bodies,
    asked,
    cells.filter((cell) => !absent.includes(cell)),
  )
  if (absent.length === 0) return Response.json(joined)
  return Response.json({ ...joined, missing_cells: absent }, { headers: { [MISSING_CELLS]: absent.join(',') } })
}

/** Streams the joined file. If a cell stops in between, the download breaks off: a file is never short without saying so. */
async function fileOf(
  { format, join }: Extract<AllCells, { kind: 'file' }>,
  { answers, missing }: Answered,
  { asked }: CellQuestion,
): Promise<Response> {
  const records = answers.map(({ body }) => (format === 'csv' ? csvRecords : lineRecords)(body ?? new ReadableStream()))
  const heads = format === 'csv' ? await Promise.all(records.map((file) => file.next())).catch(nobody) : []
  const head = heads[0]?.done === false ? csvText(heads[0].value) : ''
  const text = (cells: Cells) => (format === 'csv' ? csvText(cells) : `${cells[0]}\n`)
  const note =
    missing.length === 0
      ? ''
      : format === 'csv'
        ? `# Incomplete: these cells did not answer: ${missing.join(' ')}\r\n`
        : `${JSON.stringify({ missing_cells: missing })}\n`
  const lines = join(records, asked)[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(note + head)),
    async pull(controller) {
      const { value, done } = await lines.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(text(value)))
    },
    async cancel() {
      await lines.return?.()
    },
  })
  const headers = new Headers(missing.length > 0 ? { [MISSING_CELLS]: missing.join(',') } : {})
  for (const name of ['content-type', 'content-disposition', 'cache-control']) {
    const value = answers[0]?.headers.get(name)
    if (value) headers.set(name, value)
  }
  return new Response(body, { headers })
}

/**
 * Asks the cells in turn until one knows what it is about: the others answer 404, and do nothing. If one does not answer, the id may be its own,
 * so a 404 of the others proves nothing.
 */
export async function answerInTurn(cells: readonly CellName[], question: CellQuestion): Promise<Response> {
  let unknown: Response | null = null
  let silent: CellName | null = null
  for (const cell of cells) {
    // With its own time limit: whether it acted is what its answer says.
    const answer = await question.ask(cell)
    if (answer.status !== 404 && answer.status !== 503) return answer
    if (answer.status === 404) unknown = answer
    else silent ??= cell
  }
  if (silent === null && unknown) return unknown
  return silentCell(silent ?? MAIN_CELL)
}

/** Throws what an operator gets in place of the answer of one cell. */
export function silentCell(cell: CellName): never {
  throw new Failed(
    failure('service_unavailable', `The cell ${cell} does not answer. Try again.`, { retryAfterSeconds: 1 }),
  )
}
