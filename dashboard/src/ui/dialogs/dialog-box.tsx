import { useBlocker } from '@tanstack/react-router'
import { clsx } from 'clsx'
import { X } from 'lucide-react'
import { AlertDialog as Alert, Dialog as Modal } from 'radix-ui'
import { useState } from 'react'
import { UI_TEXT } from '../../messages/ui.ts'
import { Button, IconButton } from '../button.tsx'
import { BUTTON_ROW, type ConfirmProps, type DialogProps } from './dialog-props.ts'

const SCRIM = 'fade-in fixed inset-0 z-40 bg-scrim'
/** A sheet from the bottom on a phone; otherwise a box in the upper middle. */
const BOX = clsx(
  'fade-in fixed inset-x-0 bottom-0 z-50 mx-auto grid max-h-[92dvh] w-full gap-4 overflow-auto',
  'rounded-t-xl border border-line bg-surface p-4 sm:top-[8vh] sm:bottom-auto sm:max-h-[84vh] sm:rounded-xl sm:p-6',
)
const SHEET = clsx(
  'fade-in fixed inset-y-0 right-0 z-50 grid w-full max-w-xl content-start gap-4 overflow-auto',
  'border-l border-line bg-surface p-4 sm:p-6',
)
/** Where the focus was when a dialog opened; for an entry of a menu, which is gone by then, the button of the menu. */
function findOpener(): HTMLElement | null {
  const at = document.activeElement
  const menu = at?.closest('[role=menu]')?.getAttribute('aria-labelledby')
  const opener = menu ? document.getElementById(menu) : at
  return opener instanceof HTMLElement ? opener : null
}

/** Moves the focus to the first field of a dialog or, if it has none, to its first button. */
function focusControl(event: Event) {
  const content = event.currentTarget
  if (!(content instanceof HTMLElement) || content.contains(document.activeElement)) return
  const control = content.querySelector<HTMLElement>('input:not([type=radio]), input:checked, select, textarea')
  if (!control) return
  event.preventDefault()
  control.focus()
}

/**
 * A modal dialog that traps the focus and restores it afterwards. With `firm`, only its own buttons close it, because something in it would be
 * lost. Escape and a click outside ask first if something was typed.
 */
export function DialogBox({ title, onClose, firm = false, wide = false, side = false, children }: DialogProps) {
  const [isTyped, setTyped] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const [opener] = useState(findOpener)
  // Neither does Back or a reload close a firm one; the browser asks before a reload.
  useBlocker({ shouldBlockFn: () => firm, enableBeforeUnload: () => firm, disabled: !firm })
  const keepOpen = (event: Event) => {
    if (!firm && !isTyped) return
    event.preventDefault()
    if (!firm) setAsking(true)
  }
  return (
    <Modal.Root open onOpenChange={(next) => !next && onClose()}>
      <Modal.Portal>
        <Modal.Overlay className={SCRIM} />
        <Modal.Content
          aria-describedby={undefined}
          className={side ? SHEET : clsx(BOX, wide ? 'max-w-2xl' : 'max-w-lg')}
          onOpenAutoFocus={focusControl}
          onCloseAutoFocus={(event) => {
            // The library only knows a trigger of its own.
            event.preventDefault()
            opener?.focus()
          }}
          onInput={() => setTyped(true)}
          // What was sent is not lost.
          onSubmit={() => setTyped(false)}
          onEscapeKeyDown={keepOpen}
          onInteractOutside={keepOpen}
        >
          <div className="flex items-start justify-between gap-3">
            <Modal.Title className="min-w-0 text-[1.125rem] leading-7 font-semibold wrap-anywhere">{title}</Modal.Title>
            {!firm && (
              <Modal.Close asChild>
                <IconButton label={UI_TEXT.close} className="-mt-1 -mr-2">
                  <X size={16} aria-hidden />
                </IconButton>
              </Modal.Close>
            )}
          </div>
          {children}
          {isAsking && (
            <ConfirmBox
              title={UI_TEXT.discardTitle}
              text={UI_TEXT.discardText}
              cancelLabel={UI_TEXT.keepEditing}
              confirmLabel={UI_TEXT.discard}
              onCancel={() => setAsking(false)}
              onConfirm={onClose}
            />
          )}
        </Modal.Content>
      </Modal.Portal>
    </Modal.Root>
  )
}

/** Confirms an action that cannot be undone. Cancel has the focus. */
export function ConfirmBox({
  title,
  text,
  cancelLabel,
  confirmLabel,
  busy = false,
  onCancel,
  onConfirm,
  children,
}: ConfirmProps) {
  return (
    <Alert.Root open onOpenChange={(next) => !next && onCancel()}>
      <Alert.Portal>
        <Alert.Overlay className={SCRIM} />
        <Alert.Content className={clsx(BOX, 'max-w-md')}>
          <Alert.Title className="text-[1.125rem] leading-7 font-semibold wrap-anywhere">{title}</Alert.Title>
          <Alert.Description className="text-muted">{text}</Alert.Description>
          {children}
          <div className={BUTTON_ROW}>
            <Alert.Cancel asChild>
              <Button>{cancelLabel}</Button>
            </Alert.Cancel>
            <Button tone="danger" busy={busy} onClick={onConfirm}>
              {confirmLabel}
            </Button>
          </div>
        </Alert.Content>
      </Alert.Portal>
    </Alert.Root>
  )
}
