/* Pages that are opened as files may start no worker: browsers forbid it. There the search runs in a hidden frame, which
   takes messages and answers later, as a worker does. On a server, nothing is changed. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #ready;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.#tell(new MessageEvent("message", { data })));
      const script = inside.document.createElement("script");
      script.src = new URL(address, location.href);
      this.#ready = new Promise((resolve) => { script.onload = () => resolve(inside); });
      script.onerror = () => this.#tell(new ErrorEvent("error", { message: `cannot load ${address}` }));
      inside.document.body.append(script);
    }

    #tell(event) {
      this.dispatchEvent(event);
      this[`on${event.type}`]?.(event);
    }

    postMessage(message) {
      const data = structuredClone(message);
      this.#ready.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
