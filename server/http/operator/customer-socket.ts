import type { Actor } from '../../core/audit'
import { ok } from '../../core/result'
import { CustomerCommands, type CustomerParts } from './customer-commands'
import {
  AccountCommand,
  EraseCommand,
  KeyActionCommand,
  NoteCommand,
  RoleCommand,
  SuspendCommand,
} from './customer-record'
import { type SocketCommand, socketCommand } from './socket-command'

/** The commands of the control socket for one customer. */
export function customerSocketCommands(parts: CustomerParts, actor: Actor): Readonly<Record<string, SocketCommand>> {
  const orders = new CustomerCommands(parts)
  return {
    show: socketCommand(AccountCommand, (form) => orders.show(form)),
    suspend: socketCommand(SuspendCommand, (form) => orders.suspend(actor, form)),
    lift: socketCommand(SuspendCommand, (form) => orders.lift(actor, form)),
    role: socketCommand(RoleCommand, (form) => orders.setRole(actor, form)),
    key: socketCommand(KeyActionCommand, (form) => orders.actOnKey(actor, form)),
    note: socketCommand(NoteCommand, (form) => orders.addNote(actor, form)),
    'end-sessions': socketCommand(AccountCommand, (form) => orders.endSessions(actor, form)),
    erase: socketCommand(EraseCommand, (form) => orders.erase(actor, form)),
    export: socketCommand(AccountCommand, async (form) => {
      const stream = await orders.export(actor, form)
      return stream.ok ? ok(await new Response(stream.value).json()) : stream
    }),
  }
}
