import type { Actor } from '../../../core/audit'
import type { CellName } from '../../../core/cluster/cells'
import { elementsOf, isJson } from '../../../core/json'
import { DEFAULT_ROWS, joinedPages } from '../../../core/page'
import { ApiAccess, declaredAccess, type RouteAccess } from '../../routing/api-access'
import type { MountedRoute } from '../../routing/endpoint-table'
import type { Asked, FileJoin } from './files'

/** Which cells answer a route of operators, once there are several (ADR 53). `main` gets every request first. */
export type CellTarget =
  /** `main` alone: it concerns no account, or its handler asks the others itself. */
  | 'main'
  /** The cell of the account: `:id` of the path, or `account` of a command. */
  | 'account'
  /** The cell that has the record with this id: the others say that it does not exist. */
  | 'record'
  | AllCells

/** The same of a command of the control socket. */
export type CommandTarget =
  | CellTarget
  /** The cell of the account; without one it is that of the only operator. */
  | 'operator'
  /** The cell that the command names; without one it is `main`. */
  | 'named'

/** All cells, and how what they answer is joined. */
export type AllCells =
  | { readonly kind: 'report'; readonly join: Join }
  | { readonly kind: 'file'; readonly format: 'csv' | 'lines'; readonly join: FileJoin }

/** `cells`: whose answers these are. */
type Join = (answers: readonly unknown[], asked: Asked, cells: readonly CellName[]) => object

/** All cells, whose records are joined by this rule. */
export function report<T extends object>(
  rule: (answers: readonly T[], cells: readonly CellName[]) => T,
): Extract<AllCells, { kind: 'report' }> {
  // The records of this version: nodes of a set run one version, and while they are updated, the one before, which has the same fields.
  return { kind: 'report', join: (answers, _, cells) => rule(answers as readonly T[], cells) }
}

/** All cells, whose files are joined record by record. */
export function file(format: 'csv' | 'lines', join: FileJoin): AllCells {
  return { kind: 'file', format, join }
}

/** A page of rows with ids that sort by time. What else is on it comes from `main`. */
export function pagedReport<T extends object>(
  rows: keyof T & string,
  order: 'newest first' | 'oldest first',
): Extract<AllCells, { kind: 'report' }> {
  const join = (answers: readonly unknown[], asked: Asked) => {
    const pages = answers.filter(isJson).map((answer) => ({
      rows: elementsOf(answer[rows]) as readonly { readonly id: string }[],
      next: (answer['next_cursor'] ?? null) as string | null,
    }))
    const { rows: joined, next } = joinedPages(pages, Number(asked('limit') ?? DEFAULT_ROWS), order)
    return { ...Object(answers[0]), [rows]: joined, next_cursor: next }
  }
  return { kind: 'report', join }
}

/** Who may call a route of operators, and which cells answer it. */
export class OperatorAccess extends ApiAccess<{ readonly actor: Actor }> {
  readonly cells: CellTarget

  constructor(
    who: 'operator' | 'staff',
    withinMs: number,
    cells: CellTarget,
    admit: RouteAccess<{ readonly actor: Actor }>['admit'],
  ) {
    super(who, withinMs, admit)
    this.cells = cells
  }
}

/** Which cells answer each route of operators: what the routes declare. */
export class RouteTargets {
  private readonly targets = new Map<string, CellTarget>()

  /** Throws if a route does not declare it: `main` would answer alone, without the other cells. */
  add(mounted: readonly MountedRoute[]): void {
    for (const { method, path, hooks } of mounted) {
      const access = declaredAccess(hooks)
      if (!(access instanceof OperatorAccess))
        throw new Error(
          `${method} ${path} does not say which cells answer it. Declare it with operatorRoles(...), see docs/CONTRIBUTING.md.`,
        )
      const { cells: target } = access
      if (target === 'account' && !path.includes('/:id'))
        throw new Error(`${method} ${path} is answered by the cell of an account, but its path names none as :id.`)
      this.targets.set(`${method} ${path}`, target)
    }
  }

  /** A HEAD is answered as its GET, but by `main` alone where cells are asked in turn or their answers joined. */
  of(method: string, route: string): CellTarget {
    if (method === 'HEAD') return this.of('GET', route) === 'account' ? 'account' : 'main'
    const target = this.targets.get(`${method} ${route}`)
    if (target === undefined) throw new Error(`${method} ${route} is no route of operators.`)
    return target
  }
}
