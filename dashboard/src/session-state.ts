import { Signal } from './signal.ts'

/** True from the first response of an ended session until the next sign-in. */
export const sessionEnded = new Signal(false)

/** The workspace that this page shows. Every request names it, so that no other tab of the session can change what this one acts on. */
let workspace: string | null = null

export function setShownWorkspace(id: string | null): void {
  workspace = id
}

export function workspaceHeader(): Record<string, string> {
  return workspace === null ? {} : { 'x-workspace': workspace }
}

/** True while a request was refused because the sign-in is not recent, until the owner signs in again or dismisses the dialog. */
export const recentSignInRequired = new Signal(false)

/** Whether the user is signing out here: whatever is asked from now on could find the session gone. */
export const signingOut = new Signal(false)

const INVITATION = 'invitation'

/** Keeps the secret of an invitation for this tab, so that it is still there after a sign-in; null forgets it. */
export function keepInvitation(token: string | null): void {
  if (token === null) sessionStorage.removeItem(INVITATION)
  else sessionStorage.setItem(INVITATION, token)
}

export function keptInvitation(): string | null {
  return sessionStorage.getItem(INVITATION)
}
