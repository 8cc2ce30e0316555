import { clsx } from 'clsx'
import { X } from 'lucide-react'
import { AlertDialog as Alert, Dialog as Modal } from 'radix-ui'
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
const preventDefault = (event: Event) => event.preventDefault()

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
 * A modal dialog that traps the focus and restores it afterwards. With `firm`, neither Escape nor a click outside closes it,
 * because something in it would be lost.
 */
export function DialogBox({ title, onClose, firm = false, wide = false, side = false, children }: DialogProps) {
  return (
    <Modal.Root open onOpenChange={(next) => !next && onClose()}>
      <Modal.Portal>
        <Modal.Overlay className={SCRIM} />
        <Modal.Content
          aria-describedby={undefined}
          className={side ? SHEET : clsx(BOX, wide ? 'max-w-2xl' : 'max-w-lg')}
          onOpenAutoFocus={focusControl}
          {...(firm && {
            onEscapeKeyDown: preventDefault,
            onPointerDownOutside: preventDefault,
            onInteractOutside: preventDefault,
          })}
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
