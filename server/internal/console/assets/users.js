// The view of what is held of a user.
export function usersView(section) {
  section.textContent = "";
  return { show() {}, rest() {} };
}
