import type { AccountDirectory } from '../../core/accounts/directory'
import type { Identity } from '../../core/accounts/identity'
import type { ContextDeps } from '../../http/middleware/request-context'
import { COMMAND_PATH, CONSOLE_CLAIM, OperatorCells, type OtherCells } from '../../http/operator/cells/operator-cells'
import { accountElsewhere } from '../../http/operator/cells/staff-elsewhere'

type Handler = (request: Request) => Response | Promise<Response>
type Control = (request: Request) => Promise<Response>

interface Parts {
  readonly identity: Identity
  readonly stores: { readonly directory: AccountDirectory }
}

/** What the gateway of `main` has to reach the other cells for operators; nothing in any other gateway. */
export function operatorsOfCells(others: OtherCells | undefined, { identity, stores: { directory: roles } }: Parts) {
  if (!others) return { cells: null, elsewhere: null }
  return { cells: new OperatorCells({ ...others, identity, roles }), elsewhere: accountElsewhere(roles, others.calls) }
}

/** Handles commands of the console that `main` sends on, apart from requests. Nobody else can name the console. */
export function withCommands(handle: Handler, control: Control, staffOf: ContextDeps['staffOf']): Handler {
  if (!staffOf) return handle
  return (request) => {
    if (staffOf(request.headers)?.userId !== CONSOLE_CLAIM.userId) return handle(request)
    const path = new URL(request.url).pathname
    if (!path.startsWith(COMMAND_PATH)) return handle(request)
    const { method, headers, body, signal } = request
    const url = `http://gateway/${path.slice(COMMAND_PATH.length)}`
    return control(new Request(url, { method, headers, body, signal }))
  }
}
