"""Ejecutar capítulos: cada fallo se cuenta, cada espera tiene un plazo y lo ajeno no entra en la
caché.
"""

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from jupyter_cache import get_cache
from rich.console import Console
from test_herramientas import capitulo

from paginas import ejecutar, fallos
from paginas.capitulos import en_cache
from paginas.ejecutar import CapituloRoto, ejecuta, ejecuta_pendientes, vuelca


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Una caché de prueba para todos los capítulos, y otra para lo que falla."""
    ruta = tmp_path / "cache"
    monkeypatch.setattr(fallos, "LIBRO", tmp_path / "libro")
    monkeypatch.setattr(ejecutar, "abre_cache", lambda capitulo: get_cache(str(ruta)))
    return get_cache(str(ruta))


@pytest.fixture
def callada():
    """Una consola que guarda lo que dice."""
    return Console(record=True, width=200, file=open("/dev/null", "w"))  # noqa: SIM115


def dos(tmp_path, *codigos):
    """Dos capítulos en carpetas distintas."""
    salida = []
    for i, codigo in enumerate(codigos):
        (tmp_path / str(i)).mkdir()
        salida.append(capitulo(tmp_path / str(i), codigo))
    return salida


def test_un_fallo_se_dice_y_lo_demas_se_guarda(tmp_path, cache, callada):
    malo, bueno = dos(tmp_path, "1 / 0", "print(1)")
    with pytest.raises(CapituloRoto, match="ZeroDivisionError"):
        ejecuta_pendientes([malo, bueno], callada)
    assert en_cache(cache, bueno.cuaderno()) and not en_cache(cache, malo.cuaderno())
    assert fallos.a_medias(malo) is not None
    assert ejecuta_pendientes([bueno], callada) == []


def test_lo_que_fallo_se_intenta_otra_vez_y_se_olvida(tmp_path, cache, callada):
    """Nunca pasa por bueno; y cuando sale, no queda nada de cuando fallaba."""
    una = capitulo(tmp_path, f"assert open({str(tmp_path / 'dato')!r}).read() == 'sí'")
    (tmp_path / "dato").write_text("no")
    for _ in range(2):
        with pytest.raises(CapituloRoto) as roto:
            ejecuta_pendientes([una], callada)
        assert [x.pagina for x in roto.value.fallos] == ["01-prueba.md"]
    (tmp_path / "dato").write_text("sí")
    assert fallos.a_medias(una) is not None
    assert ejecuta_pendientes([una], callada) == ["01-prueba"]
    assert fallos.a_medias(una) is None and en_cache(cache, una.cuaderno())


def test_se_dicen_todos_los_fallos_y_lo_ejecutado(tmp_path, cache, callada):
    with pytest.raises(CapituloRoto, match="(?s)(uno|dos).*(uno|dos)") as roto:
        ejecuta_pendientes(
            dos(tmp_path, "raise ValueError('uno')", "raise KeyError('dos')"), callada
        )
    assert sorted(x.error for x in roto.value.fallos) == ["KeyError: 'dos'", "ValueError: uno"]
    (tmp_path / "otro").mkdir()
    assert ejecuta_pendientes([capitulo(tmp_path / "otro", "print(2)")], callada) == ["01-prueba"]


@pytest.mark.parametrize(("nucleos", "a_la_vez"), [(3, 3), (1, 1), (None, 1)])
def test_se_ejecutan_tantos_a_la_vez_como_nucleos(
    tmp_path, cache, callada, monkeypatch, nucleos, a_la_vez
):
    """Cada uno espera a los que tienen que estar a la vez que él, y se cuenta cuántos hay."""
    juntos, dentro, vistos = threading.Barrier(a_la_vez), [], []

    def ejecuta(capitulo, avanza, corte):
        dentro.append(capitulo)
        vistos.append(len(dentro))
        juntos.wait(30)
        time.sleep(0.05)
        dentro.remove(capitulo)

    monkeypatch.setattr(ejecutar.os, "cpu_count", lambda: nucleos)
    monkeypatch.setattr(ejecutar, "ejecuta", ejecuta)
    monkeypatch.setattr(ejecutar, "_recoge", lambda futuro, capitulo: futuro.result())
    assert len(ejecuta_pendientes(dos(tmp_path, "1", "2", "3"), callada)) == 3
    assert len(vistos) == 3 and max(vistos) == a_la_vez


def test_una_celda_que_no_termina_se_corta(tmp_path, monkeypatch):
    monkeypatch.setattr(ejecutar, "LIMITE_CELDA", 1)
    inicio = time.monotonic()
    with pytest.raises(CapituloRoto, match="pasa de 1 s"):
        ejecuta(capitulo(tmp_path, "import time; time.sleep(60)"))
    assert time.monotonic() - inicio < 30


def test_un_capitulo_que_no_termina_se_corta(tmp_path, monkeypatch):
    monkeypatch.setattr(ejecutar, "LIMITE_CAPITULO", 2)
    with pytest.raises(CapituloRoto, match="el capítulo pasa de 2 s"):
        ejecuta(capitulo(tmp_path, "import time; time.sleep(60)"))


class _Nucleo:
    """Un núcleo de mentira: ejecutar y cerrar tardan lo que se diga, y fallan o no."""

    def __init__(self, tarda=0.0, falla=None, cierra=0.0, no_cierra=None):
        self.tarda, self.falla, self.cierra, self.no_cierra = tarda, falla, cierra, no_cierra
        self.km, self.sucesos = self, []

    async def async_execute(self):
        try:
            await asyncio.sleep(self.tarda)
        except asyncio.CancelledError:
            self.sucesos.append("cancelada")
            if self.falla is None:
                raise
        if self.falla:
            raise self.falla

    async def shutdown_kernel(self, now):
        self.sucesos.append(f"cierra: {now}")
        await asyncio.sleep(self.cierra)
        if self.no_cierra:
            raise self.no_cierra

    def _cleanup_kernel(self):
        """Lo que ``ejecuta`` quita de lo que se hace al salir."""


CORTADO = ["cancelada", "cierra: True"]


def _pedido():
    corte = threading.Event()
    corte.set()
    return corte


@pytest.mark.parametrize("limite", [0, 60], ids=["vence el plazo", "se pide el corte"])
def test_lo_que_acaba_a_la_vez_que_el_plazo_no_se_tira(monkeypatch, limite):
    monkeypatch.setattr(ejecutar, "LIMITE_CAPITULO", limite)
    corte = _pedido() if limite else threading.Event()
    hecho = _Nucleo(tarda=0.05)
    assert asyncio.run(ejecutar._con_plazo(hecho, corte)) is None and hecho.sucesos == []
    with pytest.raises(ValueError, match="la celda"):
        asyncio.run(ejecutar._con_plazo(_Nucleo(0.05, ValueError("la celda")), corte))
    a_medias = _Nucleo(tarda=60)
    with pytest.raises(ejecutar.Cortado, match="interrumpido" if limite else "pasa de 0 s"):
        asyncio.run(ejecutar._con_plazo(a_medias, corte))
    assert a_medias.sucesos == CORTADO


@pytest.mark.parametrize(
    "nucleo",
    [_Nucleo(tarda=60, cierra=60), _Nucleo(tarda=60, no_cierra=RuntimeError("no hay núcleo"))],
    ids=["tarda", "falla"],
)
def test_un_cierre_que_no_sale_no_tapa_por_que_se_corto(tmp_path, monkeypatch, nucleo):
    """Ni se espera a que acabe ni se dice que el culpable es otro plazo."""
    monkeypatch.setattr(ejecutar, "LIMITE_CIERRE", 0.1)
    monkeypatch.setattr(ejecutar, "_cliente", lambda *_: nucleo)
    inicio = time.monotonic()
    with pytest.raises(CapituloRoto, match="^01-prueba.md: interrumpido.$"):
        ejecuta(capitulo(tmp_path, "1"), corte=_pedido())
    assert nucleo.sucesos == CORTADO and time.monotonic() - inicio < 20


def test_lo_que_falla_al_cortar_no_sale_con_su_traza(caplog):
    """nbclient dice «Kernel died» al cancelarse; ni eso ni lo del cierre le importa a nadie."""
    nucleo = _Nucleo(60, RuntimeError("Kernel died"), 0, RuntimeError("no hay núcleo"))
    with pytest.raises(ejecutar.Cortado):
        asyncio.run(ejecutar._con_plazo(nucleo, _pedido()))
    gc.collect()
    assert nucleo.sucesos == CORTADO and not caplog.records


def test_los_segundos_son_de_procesador(tmp_path):
    """Lo que se espera dormido no cuenta, y lo que se calcula, sí."""
    celda = "import time; time.sleep(3); print(time.process_time())"
    inicio = time.perf_counter()
    cuaderno, segundos = ejecuta(capitulo(tmp_path, celda))
    (dicho,) = (c.outputs[0].text for c in cuaderno.cells if c.get("outputs"))
    assert float(dicho) - 0.05 <= segundos < time.perf_counter() - inicio - 3
    assert ejecutar.gastado(None) == 0


@pytest.mark.parametrize("falla", [None, RuntimeError("no arranca")])
def test_al_acabar_no_queda_nada_que_cerrar_al_salir(tmp_path, monkeypatch, falla):
    nucleo, quitados = _Nucleo(tarda=0.2, falla=falla), []
    monkeypatch.setattr(ejecutar, "_cliente", lambda *_: nucleo)
    monkeypatch.setattr(ejecutar.atexit, "unregister", quitados.append)
    if falla:
        with pytest.raises(CapituloRoto, match="no arranca"):
            ejecuta(capitulo(tmp_path, "1"))
    else:
        cuaderno, _ = ejecuta(capitulo(tmp_path, "1"))
        assert cuaderno.cells[-1].cell_type == "markdown"
    assert quitados == [nucleo._cleanup_kernel]


def test_cada_celda_avanza_y_no_guarda_cuando_se_ejecuto(tmp_path, cache, callada, monkeypatch):
    """Con la hora dentro, la huella de la caché no sería la misma dos veces."""
    pasos, totales = [], []
    progreso = SimpleNamespace(
        add_task=lambda nombre, total: totales.append((nombre, total)) or len(totales) - 1,
        advance=pasos.append,
    )
    monkeypatch.setattr(ejecutar, "barra", lambda consola: contextlib.nullcontext(progreso))
    cap = capitulo(tmp_path, "x = 1", "print(x)")
    assert ejecuta_pendientes([cap], callada) == ["01-prueba"]
    assert totales == [("01-prueba", 2)] and pasos == [0, 0]
    guardado = cache.get_cache_bundle(cache.match_cache_notebook(cap.cuaderno()).pk).nb
    assert not any("execution" in celda.metadata for celda in guardado.cells)


def test_cada_nucleo_trabaja_con_un_hilo(monkeypatch, callada):
    for variable in ejecutar.HILOS:
        monkeypatch.setenv(variable, "8")
    assert ejecuta_pendientes([], callada) == []
    assert {os.environ[variable] for variable in ejecutar.HILOS} == {"1"} and ejecutar.HILOS


def test_unas_salidas_que_no_llegan_no_se_guardan_a_medias(tmp_path, monkeypatch):
    """La celda responde y lo que escribió no llega: sin mirarlo, se guardaría sin sus salidas."""

    async def nada(*_):
        await asyncio.sleep(60)

    monkeypatch.setattr(ejecutar, "LIMITE_SALIDAS", 1)
    monkeypatch.setattr(ejecutar.NotebookClient, "_async_poll_output_msg", nada)
    with pytest.raises(CapituloRoto, match="las salidas de una celda no llegan en 1 s"):
        ejecuta(capitulo(tmp_path, "print(1)"))


def test_las_salidas_se_esperan_mas_que_de_serie(tmp_path):
    cap = capitulo(tmp_path, "1")
    cliente = ejecutar._cliente(cap, cap.cuaderno(), lambda: None)
    assert cliente.iopub_timeout == ejecutar.LIMITE_SALIDAS >= 30


def test_una_interrupcion_mientras_se_lanzan_llega_a_los_que_ya_estan_en_marcha(
    tmp_path, cache, callada, monkeypatch
):
    """Si no, se espera a que acaben solos, hasta media hora. Y los que no habían empezado ya no
    empiezan.
    """
    cortados = []

    def espera(capitulo, avance, corte):
        cortados.append(corte.wait(20))
        time.sleep(0.5)

    monkeypatch.setattr(ejecutar, "ejecuta", espera)
    monkeypatch.setattr(ejecutar.os, "cpu_count", lambda: 1)
    cuentas = iter([1, 1])

    def cuenta(cuaderno):
        for una in cuentas:
            return una
        raise KeyboardInterrupt

    monkeypatch.setattr(ejecutar, "numero_de_celdas", cuenta)
    with pytest.raises(KeyboardInterrupt):
        ejecuta_pendientes(dos(tmp_path, "1", "2", "3"), callada)
    assert cortados == [True]


def test_un_nucleo_que_muere_al_arrancar_se_dice(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHOME", str(tmp_path / "no-existe"))
    inicio = time.monotonic()
    with pytest.raises(CapituloRoto, match="no arranca"):
        ejecuta(capitulo(tmp_path, "1"))
    assert time.monotonic() - inicio < 60


def test_un_nucleo_que_muere_en_una_celda_se_dice(tmp_path):
    with pytest.raises(CapituloRoto, match="el núcleo ha muerto"):
        ejecuta(capitulo(tmp_path, "import os; os._exit(9)"))


def test_se_deja_de_ejecutar_cuando_se_pide(tmp_path):
    corte = threading.Event()
    threading.Timer(3, corte.set).start()
    inicio = time.monotonic()
    with pytest.raises(CapituloRoto, match="interrumpido"):
        ejecuta(capitulo(tmp_path, "import time; time.sleep(60)"), corte=corte)
    assert time.monotonic() - inicio < 30


CON_NUCLEO = """
import sys
from pathlib import Path
from rich.console import Console
from procesos import principal
from paginas import ejecutar
from jupyter_cache import get_cache
from test_herramientas import capitulo
carpeta = Path(sys.argv[1])
ejecutar.abre_cache = lambda _: get_cache(str(carpeta / "cache"))
lento = f"open({str(carpeta / 'nucleo')!r}, 'w').write(str(__import__('os').getpid()))"
lista = [capitulo(carpeta, f"{lento}; import time; time.sleep(100)")]
principal(lambda: ejecutar.ejecuta_pendientes(lista, Console()))
"""


@pytest.mark.parametrize("sin_colgar", [False, True], ids=["terminal", "nohup"])
def test_sigterm_mientras_ejecuta_acaba_tambien_con_el_nucleo(tmp_path, sin_colgar):
    """También bajo ``nohup``, que deja sin atender SIGHUP."""
    colgar = (lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) if sin_colgar else None
    entorno = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    orden = [sys.executable, "-c", CON_NUCLEO, str(tmp_path)]
    with subprocess.Popen(
        orden, env=entorno, preexec_fn=colgar, stdout=subprocess.DEVNULL
    ) as proceso:
        fin = time.monotonic() + 60
        nucleo = tmp_path / "nucleo"
        while not (nucleo.exists() and nucleo.read_text()) and time.monotonic() < fin:
            time.sleep(0.1)
        proceso.terminate()
        try:
            assert proceso.wait(timeout=30) == 128 + signal.SIGTERM
        finally:
            proceso.kill()
    assert not psutil.pid_exists(int(nucleo.read_text()))


@pytest.fixture
def hecho(tmp_path):
    """Un capítulo y su cuaderno tal como lo deja nbval."""
    cap = capitulo(tmp_path, "print(1)")
    cuaderno = cap.cuaderno()
    for celda in cuaderno.cells:
        if celda.cell_type == "code":
            celda.outputs = [nbformat.v4.new_output("stream", name="stdout", text="1\n")]
    cuaderno.metadata["segundos"] = 7.5
    (tmp_path / "hechos").mkdir()
    nbformat.write(cuaderno, tmp_path / "hechos" / "01-prueba.ipynb")
    return cap, tmp_path / "hechos"


def test_lo_que_ejecuto_nbval_entra_en_la_cache(hecho, cache, callada):
    cap, carpeta = hecho
    assert vuelca(carpeta, callada, [cap]) == ["01-prueba"]
    registro = cache.match_cache_notebook(cap.cuaderno())
    assert registro.data["execution_seconds"] == 7.5
    _, guardado = cache.merge_match_into_notebook(cap.cuaderno())
    assert [c.outputs[0].text for c in guardado.cells if c.cell_type == "code"] == ["1\n"]


def test_otro_codigo_no_entra_en_la_cache(hecho, cache, callada, tmp_path):
    cambiado = capitulo(tmp_path, "print(2)")
    assert vuelca(hecho[1], callada, [cambiado]) == []
    assert (
        not en_cache(cache, cambiado.cuaderno())
        and "se ejecutará de nuevo" in callada.export_text()
    )
    assert vuelca(tmp_path, callada, [cambiado]) == []
