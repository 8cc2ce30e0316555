import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { accountQuery, signOut } from '../api/account/account.ts'
import { showWorkspace, workspacesQuery } from '../api/account/workspaces.ts'
import { toApiFailure } from '../api/client/failure.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { signingOut } from '../session-state.ts'
import { useSignal } from '../signal.ts'
import { chooseTheme, type Theme, theme } from '../ui/browser/theme.ts'
import { toast } from '../ui/feedback/toast.ts'
import { Menu } from '../ui/menus/menu.tsx'
import type { MenuEntry } from '../ui/menus/menu-entry.ts'
import { LateIcon } from './late-icon.tsx'

const THEMES: readonly Theme[] = ['system', 'light', 'dark']

/** The signed-in account, the theme, and sign-out. */
export function AccountMenu({ named = false }: { named?: boolean }) {
  const email = useQuery(accountQuery).data?.email ?? ''
  const workspaces = useQuery(workspacesQuery).data?.workspaces ?? []
  const chosen = useSignal(theme)
  const leave = useSignOut()
  const entries: MenuEntry[] = [
    { kind: 'note', label: email },
    ...(workspaces.length > 1 ? workspaces : []).map(
      ({ id, name, shown }): MenuEntry => ({
        kind: 'choice',
        label: SHELL_TEXT.workspace(name),
        chosen: shown,
        // A full page load: everything belongs to the workspace.
        onSelect: () => void showWorkspace(id).then(() => window.location.assign('/'), complain),
      }),
    ),
    ...THEMES.map(
      (name): MenuEntry => ({
        kind: 'choice',
        label: `${SHELL_TEXT.theme}: ${SHELL_TEXT.themes[name]}`,
        chosen: name === chosen,
        onSelect: () => chooseTheme(name),
      }),
    ),
    { kind: 'action', label: SHELL_TEXT.signOut, onSelect: leave },
  ]
  return (
    <Menu
      entries={entries}
      trigger={
        <button
          type="button"
          aria-label={named ? undefined : SHELL_TEXT.account}
          className="control flex min-w-0 items-center gap-2 px-2 hover:bg-sunken"
        >
          <LateIcon name="account" />
          {named && (
            <>
              <span className="sr-only">{SHELL_TEXT.account}</span>
              <span className="truncate">
                {workspaces.length > 1 ? workspaces.find(({ shown }) => shown)?.name : email}
              </span>
            </>
          )}
        </button>
      }
    />
  )
}

function complain(error: unknown): void {
  void toast(toApiFailure(error).message, { bad: true })
}

function useSignOut() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const leave = async () => {
    // The end of the session ends the events, which asks for the account again.
    signingOut.set(true)
    try {
      await queries.cancelQueries()
      await signOut()
      await navigate({ to: '/sign-in' })
      queries.clear()
    } catch (error) {
      complain(error)
    } finally {
      signingOut.set(false)
    }
  }
  return () => void leave()
}
