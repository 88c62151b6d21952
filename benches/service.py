"""A Kindred service for load tests: builds and starts it in a temporary directory, speaks HTTP, stops and cleans up.

Python standard library only. KINDRED_BINARY names a binary to use in place of the one that is built here.
"""
import http.client
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ADULT = os.path.join(ROOT, "data", "adult")
COLUMNS = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation",
           "salary-class"]


def machine():
    """Processor, cores and memory, in one line."""
    model, memory = platform.processor() or platform.machine(), ""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            model = next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
        with open("/proc/meminfo", encoding="ascii") as file:
            memory = f", {int(file.readline().split()[1]) / 2**20:.0f} GiB"
    except (OSError, StopIteration):
        pass
    load = ", load {:.1f}".format(os.getloadavg()[0])
    return f"{model}, {os.cpu_count()} cores{memory}, {platform.system()} {platform.release()}{load}"


def binary():
    """The service, built with the `fast` profile."""
    given = os.environ.get("KINDRED_BINARY")
    if given:
        return given
    subprocess.run(["cargo", "build", "--locked", "--quiet", "--profile", "fast", "--bin", "kindred"], cwd=ROOT,
                   check=True)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    return os.path.join(target, "fast", "kindred")


class Service:
    """A running service. `with Service() as service:`; settings are KINDRED__SECTION__KEY variables."""

    def __init__(self, **settings):
        # As root the database runs as another user, who must be able to walk to its directory.
        base = "/tmp" if os.geteuid() == 0 else None
        self.directory = tempfile.mkdtemp(prefix="kindred-bench.", dir=base)
        os.chmod(self.directory, 0o711)
        self.settings = settings
        self.binary = binary()
        self.process = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        for directory, _, files in os.walk(self.directory):
            if "postmaster.pid" in files:  # only if the service could not stop its own database
                with open(os.path.join(directory, "postmaster.pid"), encoding="ascii") as file:
                    os.kill(int(file.readline()), signal.SIGINT)
                time.sleep(1)
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        """Starts the process and waits for /readyz; gives the seconds that took."""
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        environment.update(self.settings)
        environment["KINDRED__SERVER__ADDRESS"] = f"127.0.0.1:{self.port}"
        environment["KINDRED__DATA_DIRECTORY"] = os.path.join(self.directory, "data")
        begun = time.monotonic()
        self.log = open(os.path.join(self.directory, "service.log"), "ab")
        self.process = subprocess.Popen([self.binary, "serve"], env=environment, stdout=self.log, stderr=self.log)
        while time.monotonic() - begun < 60:
            if self.process.poll() is not None:
                break
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return time.monotonic() - begun
            except OSError:
                pass
            time.sleep(0.02)
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            raise SystemExit("the service did not get ready:\n" + file.read()[-2000:])

    def stop(self):
        """Asks the process to stop and waits."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(35)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def kill(self):
        """SIGKILL, as a power cut would."""
        self.process.kill()
        self.process.wait()

    def peak_bytes(self):
        """Greatest resident size of the service process so far (VmHWM); its database is not in it."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def connection(self):
        """A connection of one's own."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def call(self, method, path, body=None, headers=None):
        """One request; gives status and parsed JSON."""
        connection = self.connection()
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers["content-type"] = "application/json"
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def expect(self, status, method, path, body=None, headers=None):
        """One request that must answer with this status; gives its JSON."""
        found, answer = self.call(method, path, body, headers)
        if found != status:
            raise SystemExit(f"{method} {path}: expected {status}, got {found}: {answer}")
        return answer

    def adult_dataset(self, file):
        """Declares adult (nine quasi-identifiers, the distributed hierarchies) and uploads `file`; gives the id."""
        dataset = self.expect(201, "POST", "/v1/datasets", adult_declaration())["dataset_id"]
        with open(file, "rb") as upload:
            self.expect(201, "POST", f"/v1/datasets/{dataset}/batches?delimiter=%3B", upload,
                        {"content-type": "text/csv", "content-length": str(os.path.getsize(file))})
        return dataset

    def wait(self, job, states=("succeeded", "failed", "cancelled"), patience=600):
        """Long-polls until the job is in one of the states; gives the job."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            answer = self.expect(200, "GET", f"/v1/jobs/{job}?wait=1")
            if answer["state"] in states:
                return answer
        raise SystemExit(f"the job is still {answer['state']}: {answer}")


def adult_declaration():
    """Body of POST /v1/datasets for adult.csv."""
    attributes = []
    for name in COLUMNS:
        with open(os.path.join(ADULT, f"adult_hierarchy_{name}.csv"), encoding="utf-8") as file:
            attributes.append({"name": name, "role": "quasi_identifying",
                               "hierarchy": {"kind": "table", "delimiter": ";", "text": file.read()}})
    return {"name": "adult", "attributes": attributes}


def long_search(dataset, seed=7):
    """A search that runs until its time is over: NSGA-II over all nine columns with far too many generations."""
    return {
        "dataset_id": dataset,
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "suppression_limit": 0.05,
        "search": {"method": "nsga2", "population": 200, "generations": 100000, "seed": seed, "max_seconds": 90},
        "objectives": ["generalization_depth", "suppression"],
    }
